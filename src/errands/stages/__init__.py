"""The pipeline, in order: teacher, distill, finetune (skill), meta."""
