"""`errands agents`: which agents there are, and in which worlds they can act."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Agents:
    """List every agent that --agent takes, the worlds it can act in, and what it does.

    Planners see the whole state and act in every world; trained agents act where they are shipped.
    Your own runs are used with --weights FOLDER.

    examples
      errands agents
    """

    def execute(self) -> int:
        from errands.agents.load import shipped_agents
        from errands.agents.registry import AGENTS
        from errands.commands.actors import default_agent
        from errands.worlds.spec import WORLDS

        shipped = shipped_agents()
        width = max(map(len, AGENTS))
        for name, entry in AGENTS.items():
            where = [
                f"{world} (default)" if name == default_agent(world) else world
                for world in WORLDS
                if entry.sort == "planner" or f"{world}/{name}" in shipped
            ]
            if where:
                print(f"{name:{width}}  {', '.join(where):32}  {entry.note}".rstrip())
        return 0
