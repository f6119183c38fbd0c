/** The controller manager's process. */
import { runComponent } from '../component-base/component.ts'
import { controllerManager } from './options.ts'
import { runManagerProcess } from './run-manager.ts'

void runComponent({
  ...controllerManager,
  run: runManagerProcess,
})
