// The pictures: the map from above, drawn with the world's own sprites, and the agent's view.

const CELLS = 10;
const SPRITE = 16; // pixels a side
const VIEW = 64;
const EMPTY = 0, FIRST_OBJECT = 3; // tile codes; a tile's sprite is one further on than its code
const LONGEST_MOVE = 150; // milliseconds
const FLASH = 450; // milliseconds that a cell glows after something was done there
const FIELD_OF_VIEW = (70 * Math.PI) / 180;
const still = matchMedia("(prefers-reduced-motion: reduce)");

export class Stage {
  #root;
  #map;
  #view;
  #sheets = {};
  #world = null; // what the server said of it: objects, event, whether the agent has a view
  #sheet = null;
  #frame = null;
  #from = null; // where the agent was, for the move that is being shown
  #moved = 0; // when it began
  #pace = LONGEST_MOVE;
  #flash = null; // {row, column, since}
  #pointed = null; // the cell under the mouse
  #cursor = null; // the cell that the keys have chosen
  #object = "";
  #scheduled = false;

  /** `root` holds the pictures; `onDrop` is called with the cell that is clicked. */
  constructor(root, onDrop) {
    this.#root = root;
    this.#view = root.querySelector(".view");
    const map = this.#map = root.querySelector(".map");
    map.addEventListener("pointermove", (event) => this.#point(this.#cellAt(event)));
    map.addEventListener("pointerleave", () => this.#point(null));
    map.addEventListener("click", (event) => onDrop(this.#cellAt(event)));
    map.addEventListener("blur", () => this.moveCursor(null));
    new ResizeObserver(() => this.#fit()).observe(document.getElementById("pictures"));
    addEventListener("resize", () => this.#fit());
  }

  get cursor() { return this.#cursor; }

  /** Load the sprites of a world and draw with them from now on. */
  async show(name, world) {
    this.#world = world;
    this.#frame = this.#from = this.#flash = null;
    this.#root.querySelector(".view-figure").hidden = !world.first_person;
    this.#fit();
    this.#sheets[name] ??= loaded(`sprites/${name}.png`);
    const sheet = await this.#sheets[name];
    if (this.#world === world) this.#sheet = sheet;
    this.#draw();
  }

  set object(name) { this.#object = name; this.#draw(); }

  /** Show how things stand; the agent's move takes no longer than a step does. */
  update(frame, stepsPerSecond) {
    const before = this.#frame;
    this.#frame = frame;
    const follows = before && frame.step === before.step + 1;
    this.#from = follows && !still.matches ? before : null;
    this.#pace = Math.min(LONGEST_MOVE, 600 / stepsPerSecond);
    this.#moved = performance.now();
    if (follows && frame.deed && !frame.deed.startsWith("visit")) {
      this.#flash = { ...acted(before, frame), since: this.#moved };
    }
    if (frame.view) this.#showView(frame.view);
    this.#draw();
  }

  /** Arrow keys on the map: from the agent's cell, one cell at a time. */
  moveCursor(direction) {
    const [down, right] = { up: [-1, 0], down: [1, 0], left: [0, -1], right: [0, 1] }[direction] ?? [];
    if (down === undefined || !this.#frame) this.#cursor = null;
    else {
      const { row, column } = this.#cursor ?? this.#frame;
      const inside = (k) => Math.min(Math.max(k, 1), CELLS - 2);
      this.#cursor = { row: inside(row + down), column: inside(column + right) };
    }
    this.#draw();
    return this.#cursor && `row ${this.#cursor.row}, column ${this.#cursor.column}: ${this.#named(this.#cursor)}`;
  }

  #named(cell) {
    const tile = this.#tile(cell);
    return ["empty", "wall", "water", ...this.#world.objects][tile];
  }

  #tile({ row, column }) { return parseInt(this.#frame.tiles[row * CELLS + column], 36); }

  #isFree(cell) {
    const { row, column } = this.#frame;
    return this.#tile(cell) === EMPTY && !(cell.row === row && cell.column === column);
  }

  #cellAt(event) {
    const box = this.#map.getBoundingClientRect();
    const place = (at, start, size) => Math.min(Math.max(Math.floor(((at - start) / size) * CELLS), 0), CELLS - 1);
    return { row: place(event.clientY, box.top, box.height), column: place(event.clientX, box.left, box.width) };
  }

  #point(cell) {
    if (cell?.row === this.#pointed?.row && cell?.column === this.#pointed?.column) return;
    this.#pointed = cell;
    this.#draw();
  }

  /** Pictures as large as there is room for, their pixels whole or half numbers of the screen's.
   * Two maps on a phone are too small for that: there the cells are whole numbers. */
  #fit() {
    const ratio = devicePixelRatio || 1;
    const pictures = document.getElementById("pictures");
    const lanes = Number(pictures.dataset.lanes ?? 1), narrow = pictures.clientWidth < 560;
    const width = (pictures.clientWidth - (narrow ? 10 : 20) * (lanes - 1)) / lanes;
    const height = Math.max(320, innerHeight - 310);
    const whole = (room, unit, most) => {
      const times = Math.max(1, Math.floor((Math.min(room, most) * ratio) / unit + 0.01));
      return (times * unit) / ratio;
    };
    const MAP = narrow && lanes > 1 ? CELLS : (CELLS * SPRITE) / 2;
    let map = whole(Math.min(width, height), MAP, lanes > 1 ? 480 : 640);
    if (this.#world?.first_person) {
      const pair = width >= 400;
      map = whole(pair ? width * 0.45 : width, MAP, pair ? 480 : 400);
      const view = whole(pair ? Math.min(width - map - 14, height) : width, VIEW, 576);
      size(this.#view, view);
    }
    size(this.#map, map);
    const pixels = Math.round(map * ratio);
    if (this.#map.width !== pixels) this.#map.width = this.#map.height = pixels;
    this.#draw();
  }

  #showView(encoded) {
    const bytes = Uint8Array.from(atob(encoded), (letter) => letter.charCodeAt(0));
    const image = new ImageData(VIEW, VIEW);
    for (let from = 0, to = 0; from < bytes.length; from += 3, to += 4) {
      image.data.set(bytes.subarray(from, from + 3), to);
      image.data[to + 3] = 255;
    }
    this.#view.getContext("2d").putImageData(image, 0, 0);
  }

  #draw() {
    if (this.#scheduled) return;
    this.#scheduled = true;
    requestAnimationFrame((now) => {
      this.#scheduled = false;
      if (this.#frame && this.#sheet) this.#paint(now);
    });
  }

  #paint(now) {
    const pen = this.#map.getContext("2d");
    const cell = this.#map.width / CELLS;
    const frame = this.#frame, objects = this.#world.objects.length;
    const agent = 4 + objects, arrow = agent + 1, mark = agent + 2;
    pen.imageSmoothingEnabled = false;
    const sprite = (k, row, column, side = 1) => {
      const [x, y] = [Math.round(column * cell), Math.round(row * cell)];
      pen.drawImage(this.#sheet, k * SPRITE, 0, SPRITE, SPRITE, x, y, cell * side, cell * side);
    };
    for (let row = 0; row < CELLS; row++) {
      for (let column = 0; column < CELLS; column++) {
        sprite((row + column) % 2, row, column);
        const tile = this.#tile({ row, column });
        if (tile !== EMPTY) sprite(tile + 1, row, column);
      }
    }
    // The clock of a late animation frame may lie before the move began.
    const moving = this.#from ? Math.min(1, Math.max(0, (now - this.#moved) / this.#pace)) : 1;
    const eased = moving * (2 - moving);
    const between = (name) => (this.#from ? this.#from[name] + (frame[name] - this.#from[name]) * eased : frame[name]);
    const row = between("row"), column = between("column");
    if (this.#world.first_person) {
      const from = this.#from?.heading ?? frame.heading;
      const turn = ((frame.heading - from + 5) % 4) - 1; // -1, 0, 1: the shorter way round
      const angle = ((from + turn * eased) * Math.PI) / 2;
      this.#paintSight(pen, (column + 0.5) * cell, (row + 0.5) * cell, angle);
      pen.save();
      pen.translate((column + 0.5) * cell, (row + 0.5) * cell);
      pen.rotate(angle);
      pen.drawImage(this.#sheet, arrow * SPRITE, 0, SPRITE, SPRITE, -cell / 2, -cell / 2, cell, cell);
      pen.restore();
    } else {
      const below = this.#tile(frame);
      if (below >= FIRST_OBJECT && moving === 1) sprite((frame.row + frame.column) % 2, frame.row, frame.column);
      sprite(agent, row, column);
      if (below >= FIRST_OBJECT && moving === 1) sprite(below + 1, frame.row + 0.5, frame.column + 0.5, 0.5);
    }
    const glow = this.#flash ? Math.min(1, 1 - (now - this.#flash.since) / FLASH) : 0;
    if (glow > 0) {
      pen.globalAlpha = glow;
      sprite(mark, this.#flash.row, this.#flash.column);
      pen.globalAlpha = 1;
    }
    this.#paintChosen(pen, sprite, mark);
    if (moving < 1 || glow > 0) this.#draw();
  }

  /** Where the agent looks, in the block world: what it knows of the map is what lies there. */
  #paintSight(pen, x, y, angle) {
    const far = this.#map.width * 0.5;
    const light = pen.createRadialGradient(x, y, 0, x, y, far);
    light.addColorStop(0, "rgb(255 244 190 / 0.6)");
    light.addColorStop(1, "rgb(255 244 190 / 0)");
    pen.fillStyle = light;
    pen.beginPath();
    pen.moveTo(x, y);
    pen.arc(x, y, far, angle - Math.PI / 2 - FIELD_OF_VIEW / 2, angle - Math.PI / 2 + FIELD_OF_VIEW / 2);
    pen.fill();
  }

  #paintChosen(pen, sprite, mark) {
    const cell = this.#cursor ?? this.#pointed;
    if (!cell) return;
    const kind = this.#world.objects.indexOf(this.#object);
    if (this.#isFree(cell) && kind >= 0 && !this.#frame.outcome) {
      pen.globalAlpha = 0.6;
      sprite(4 + kind, cell.row, cell.column);
      pen.globalAlpha = 1;
    }
    if (this.#cursor || this.#isFree(cell)) sprite(mark, cell.row, cell.column);
  }
}

function size(canvas, side) {
  canvas.style.width = canvas.style.height = `${side}px`;
}

function loaded(address) {
  const image = new Image();
  image.src = address;
  return image.decode().then(() => image);
}

/** The cell that the agent has just acted on. */
function acted(before, frame) {
  const ways = { north: [-1, 0], south: [1, 0], west: [0, -1], east: [0, 1] };
  const way = frame.action.split(" ").at(-1);
  const [down, right] = ways[way] ?? Object.values({ 0: [-1, 0], 1: [0, 1], 2: [1, 0], 3: [0, -1] })[before.heading];
  return { row: before.row + down, column: before.column + right };
}
