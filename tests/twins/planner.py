"""The planners in plain Python: Dijkstra's search over every pose, once for each question."""

import heapq
from itertools import product

from twins.world import COMPASS, INSIDE, Cell, Twin, destination, handled, turned

Pose = tuple[Cell, str]  # where the agent stands and looks; pitch never matters


def plan(
    twin: Twin, verb: str, target: str, actions: list[str], water_cost: int
) -> tuple[set[str], int | None]:
    """Every optimal action from where the agent is, and the least cost; nothing if out of reach."""
    if verb == "interact with":
        verb = twin.spec.interact.get(target, "pick up")
    costs = costs_to_go(twin, verb, target, actions, water_cost)
    here = (twin.agent, twin.heading)
    of_action = {}
    for action in actions:
        cost, after = outcome(twin, here, action, verb, target, water_cost)
        if after is None:
            of_action[action] = cost
        elif after in costs:
            of_action[action] = cost + costs[after]
    if not of_action:
        return set(), None
    least = min(of_action.values())
    return {action for action, cost in of_action.items() if cost == least}, least


def costs_to_go(
    twin: Twin, verb: str, target: str, actions: list[str], water_cost: int
) -> dict[Pose, int]:
    """The least cost from each pose to the deed, for poses that reach it at all."""
    standing = [cell for cell in INSIDE if twin.things.get(cell) != "wall"]
    came_from: dict[Pose, list[tuple[int, Pose]]] = {}
    queue: list[tuple[int, Pose]] = []
    headings = COMPASS if twin.spec.kind == "block" else [twin.heading]
    for pose in product(standing, headings):
        for action in actions:
            cost, after = outcome(twin, pose, action, verb, target, water_cost)
            if after is None:
                heapq.heappush(queue, (cost, pose))
            elif after != pose:
                came_from.setdefault(after, []).append((cost, pose))
    costs: dict[Pose, int] = {}
    while queue:
        cost, pose = heapq.heappop(queue)
        if pose not in costs:
            costs[pose] = cost
            for step, before in came_from.get(pose, []):
                heapq.heappush(queue, (cost + step, before))
    return costs


def outcome(
    twin: Twin, pose: Pose, action: str, verb: str, target: str, water_cost: int
) -> tuple[int, Pose | None]:
    """What an action costs and where it leads: None when it does the deed."""
    cell, heading = pose
    heading, _ = turned(heading, 0, action)
    to = destination(cell, heading, action)
    if to is None or twin.things.get(to) == "wall":
        to = cell
    cost = water_cost if twin.things.get(to) == "water" else 1
    if verb == "visit":
        done = to != cell and twin.things.get(to) == target
    else:
        at = handled(cell, heading, action)
        fits = action.startswith(verb.upper().replace(" ", "_"))
        done = fits and at is not None and twin.things.get(at) == target
    return cost, None if done else (to, heading)


def plan_list(
    twin: Twin, near_optimal: bool, actions: list[str], water_cost: int
) -> tuple[set[str], int | None]:
    """The hand-made policies: first an event that is close, unless the list names its object."""
    event = twin.spec.event
    named = {goal.object for goal in twin.goals[twin.progress :]}
    if near_optimal and twin.event and event and event.object not in named:
        best, cost = plan(twin, "transform", event.object, actions, water_cost)
        if cost is not None and cost <= event.close and cost <= twin.event.left:
            return best, cost
    goal = twin.goals[min(twin.progress, len(twin.goals) - 1)]
    return plan(twin, goal.verb, goal.object, actions, water_cost)
