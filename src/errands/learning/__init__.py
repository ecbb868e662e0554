"""How agents improve: rollouts, advantages, losses, checkpoints."""
