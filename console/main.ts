/** The console's process, as a cluster runs it. */
import { runComponent } from '../components/component-base/component.ts'
import { consoleProgram } from './options.ts'
import { runConsoleProgram } from './run-console-program.ts'

// Browsers have real time, and so have their sessions.
void runComponent({ ...consoleProgram, isOutsideTime: true, run: runConsoleProgram })
