"""What a new episode must look like, in plain Python: regions, and lists carried out on paper."""

from collections import Counter

from twins.world import INSIDE, Cell, Goal, Twin, neighbour


def open_cells(twin: Twin) -> list[Cell]:
    """Cells that are neither wall nor water."""
    return [cell for cell in INSIDE if twin.things.get(cell) not in ("wall", "water")]


def region(twin: Twin, start: Cell) -> set[Cell]:
    """Every cell that can be walked to on dry land."""
    dry = set(open_cells(twin))
    found, frontier = {start}, [start]
    while frontier:
        cell = frontier.pop()
        for direction in ("north", "east", "south", "west"):
            to = neighbour(cell, direction)
            if to in dry and to not in found:
                found.add(to)
                frontier.append(to)
    return found


def asked(twin: Twin, goal: Goal) -> tuple[str, int]:
    """What an instruction really asks for, and how many targets it must find."""
    verb = goal.verb
    if verb == "interact with":
        verb = twin.spec.interact.get(goal.object, "pick up")
    if verb == "visit":
        return verb, 1
    return verb, twin.spec.fewest_for_all if goal.quantity == "all" else int(goal.quantity)


def consume(twin: Twin, goal: Goal, stock: Counter[str]) -> None:
    """Carry an instruction out on paper."""
    verb, needed = asked(twin, goal)
    if verb == "visit":
        return
    taken = stock[goal.object] if goal.quantity == "all" else needed
    stock[goal.object] -= taken
    product = twin.spec.transforms.get(goal.object) if verb == "transform" else None
    if product is not None:
        stock[product] += taken


def provide(twin: Twin, room: int) -> None:
    """Add what the list would miss: to the map if there is room, else as owed."""
    stock = Counter({name: twin.count(name) for name in twin.spec.objects})
    on_map = stock.total()
    all_taken: set[str] = set()
    for goal in twin.goals:
        _, needed = asked(twin, goal)
        while stock[goal.object] < needed:
            allowed = goal.object not in all_taken and on_map < room
            if allowed and twin.place(goal.object) is not None:
                on_map += 1
            else:
                goal.owed += 1
            stock[goal.object] += 1
        consume(twin, goal, stock)
        if goal.quantity == "all" and asked(twin, goal)[0] != "visit":
            all_taken.add(goal.object)


def missing(twin: Twin) -> list[Goal]:
    """Instructions that would not find their targets, were the list carried out from here."""
    stock = Counter({name: twin.count(name) for name in twin.spec.objects})
    short = []
    for goal in twin.goals:
        stock[goal.object] += goal.owed
        if stock[goal.object] < asked(twin, goal)[1]:
            short.append(goal)
        consume(twin, goal, stock)
    return short
