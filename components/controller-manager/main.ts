/** The controller manager's process. */
import { runComponent } from '../component-base/component.ts'
import { controllerManager } from './options.ts'
import { runManagerProcess } from './run-manager.ts'

await runComponent({
  ...controllerManager,
  run: runManagerProcess,
})
