/** Step kinds: the list of all kinds of steps. A new kind is one file in steps/ and one line here. */
import type { Shape } from '../../cluster/shape.ts'
import type { ScenarioStep, StepKind } from './step.ts'
import { apply } from './steps/apply.ts'
import { createChaos } from './steps/chaos.ts'
import { checkpoint } from './steps/checkpoint.ts'
import { component, node } from './steps/component.ts'
import { create } from './steps/create.ts'
import { deleteStep } from './steps/delete.ts'
import { createEach } from './steps/each.ts'
import { expect } from './steps/expect.ts'
import { happened } from './steps/happened.ts'
import { inOrder } from './steps/in-order.ts'
import { include } from './steps/include.ts'
import { fault, heal } from './steps/fault.ts'
import { join } from './steps/join.ts'
import { kubectl } from './steps/kubectl.ts'
import { createHolds, createNever } from './steps/never.ts'
import { patch } from './steps/patch.ts'
import { processStep } from './steps/process.ts'
import { createRepeat } from './steps/repeat.ts'
import { createRetry } from './steps/retry.ts'
import { request } from './steps/request.ts'
import { run } from './steps/run.ts'
import { set } from './steps/set.ts'
import { sleep } from './steps/sleep.ts'
import { time } from './steps/time.ts'
import { createTogether } from './steps/together.ts'
import { token } from './steps/token.ts'
import { createTry } from './steps/try.ts'
import { createWriters } from './steps/writers.ts'

/** `steps` is the shape of a list of steps, for kinds with nested steps. */
export function createStepKinds(steps: Shape<ScenarioStep[]>): readonly StepKind[] {
  return [
    create,
    apply,
    patch,
    deleteStep,
    expect,
    createHolds(steps),
    createNever(steps),
    happened,
    inOrder,
    request,
    node,
    component,
    fault,
    heal,
    createChaos(steps),
    join,
    token,
    checkpoint,
    createWriters(steps),
    createRepeat(steps),
    createEach(steps),
    createTogether(steps),
    createTry(steps),
    createRetry(steps),
    include,
    set,
    run,
    processStep,
    kubectl,
    sleep,
    time,
  ]
}
