/** Component verdicts: whether the status of a component is as a condition describes it. */
import { brief } from '../../components/machinery/objects/differences.ts'
import { parseCondition } from '../../scenarios/engine/where.ts'
import type { ComponentCondition } from './check.ts'
import type { LessonPlace } from './lesson-place.ts'
import { savedFrom } from './saved-variables.ts'
import { notDone } from './verdict.ts'
import type { ConditionVerdict, ConditionVerdicts } from './verdict.ts'
import type { ComponentStatus } from '../../cluster/control-protocol.ts'

function judged(
  condition: ComponentCondition,
  status: ComponentStatus | undefined,
): ConditionVerdict {
  const { name, where, save } = condition
  if (status === undefined) return notDone(`there is no component ${name}`)
  const unmet = where.map(parseCondition).flatMap((one) => {
    const { holds, values } = one.test(status)
    return holds
      ? []
      : [`component ${name}: ${one.text}: it is ${values.map((value) => brief(value)).join(', ')}`]
  })
  if (unmet.length > 0) return notDone(...unmet)
  const { saved, missing } = savedFrom(status, save)
  if (missing !== undefined) return notDone(`component ${name} has no ${missing}`)
  return { done: true, report: [], saved }
}

export function componentVerdicts(
  condition: ComponentCondition,
  { components }: LessonPlace,
): ConditionVerdicts {
  return async function* (signal) {
    if (components === undefined) {
      yield notDone('this cluster has no supervisor that can be asked for its components')
      return
    }
    for await (const states of components.changes(signal)) {
      yield judged(condition, states.get(condition.name))
    }
  }
}
