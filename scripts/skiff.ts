/** The `skiff` command as one program. Built into dist/skiff.js. */
import { runProcess } from '../cluster/cli/run-cli.ts'
import { skiffCommands } from './skiff/commands.ts'

void runProcess(skiffCommands)
