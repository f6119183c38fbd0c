/** Step kinds: the list of all kinds of steps. A new kind is one file in steps/ and one line here. */
import type { Shape } from './shape.ts'
import type { ScenarioStep, StepKind } from './step.ts'
import { apply } from './steps/apply.ts'
import { checkpoint } from './steps/checkpoint.ts'
import { component, node } from './steps/component.ts'
import { create } from './steps/create.ts'
import { deleteStep } from './steps/delete.ts'
import { expect } from './steps/expect.ts'
import { join } from './steps/join.ts'
import { kubectl } from './steps/kubectl.ts'
import { patch } from './steps/patch.ts'
import { processStep } from './steps/process.ts'
import { createRepeat } from './steps/repeat.ts'
import { request } from './steps/request.ts'
import { run } from './steps/run.ts'
import { sleep } from './steps/sleep.ts'
import { createTogether } from './steps/together.ts'
import { token } from './steps/token.ts'
import { createWriters } from './steps/writers.ts'

/** `steps` is the shape of a list of steps, for kinds with nested steps. */
export function createStepKinds(steps: Shape<ScenarioStep[]>): readonly StepKind[] {
  return [
    create,
    apply,
    patch,
    deleteStep,
    expect,
    request,
    node,
    component,
    join,
    token,
    checkpoint,
    createWriters(steps),
    createRepeat(steps),
    createTogether(steps),
    run,
    processStep,
    kubectl,
    sleep,
  ]
}
