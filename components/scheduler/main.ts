/** The scheduler's process. */
import { runComponent } from '../component-base/component.ts'
import { scheduler } from './options.ts'
import { runSchedulerProcess } from './run-scheduler.ts'

void runComponent({
  ...scheduler,
  run: runSchedulerProcess,
})
