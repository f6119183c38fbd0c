/** The stage runner's process. */
import { runComponent } from '../component-base/component.ts'
import { stageRunner } from './options.ts'
import { runStageProcess } from './run-stages.ts'

void runComponent({
  ...stageRunner,
  run: runStageProcess,
})
