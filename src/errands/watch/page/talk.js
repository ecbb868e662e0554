// The connection to the server: JSON both ways, and films as bytes.

const AGAIN_AFTER = 1500; // milliseconds between attempts to connect again

export class Talk extends EventTarget {
  #socket = null;
  #asleep = false; // let go by the server: comes back when the person does something
  #film = null; // what the next bytes are

  connect() {
    this.#asleep = false;
    this.#tell("waiting", "connecting");
    const address = new URL("talk", location.href);
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    address.search = "";
    const socket = new WebSocket(address);
    socket.binaryType = "blob";
    socket.onmessage = (event) => this.#hear(event.data);
    socket.onclose = (event) => this.#lost(event.code);
    this.#socket = socket;
  }

  send(kind, fields = {}) {
    if (this.#asleep) this.connect();
    else if (this.#socket?.readyState === WebSocket.OPEN) {
      this.#socket.send(JSON.stringify({ kind, ...fields }));
    }
  }

  #hear(data) {
    if (data instanceof Blob) {
      this.#emit("film", { ...this.#film, content: new Blob([data], { type: this.#film.media }) });
      return;
    }
    const message = JSON.parse(data);
    if (message.kind === "hello") this.#tell("open", "connected");
    if (message.kind === "saved") this.#film = message;
    if (message.kind === "notice" && ["idle", "server"].includes(message.about)) {
      this.#asleep = true;
      this.#tell("closed", message.message);
    }
    this.#emit(message.kind, message);
  }

  #lost(code) {
    if (this.#asleep) return;
    const tooLong = code === 1009;
    this.#tell("closed", tooLong ? "that message was too long" : "the server does not answer");
    setTimeout(() => this.connect(), AGAIN_AFTER);
  }

  #tell(state, words) {
    this.#emit("connection", { state, words });
  }

  #emit(kind, detail) {
    this.dispatchEvent(new CustomEvent(kind, { detail }));
  }
}
