/** Object verdicts: whether objects are as a condition describes them, judged anew after each change. */
import { observedStates } from '../../cluster/observe.ts'
import { UnknownKindError } from '../../scenarios/engine/unknown-kind-error.ts'
import { createJudge, describeExpectation } from '../../scenarios/engine/expectation.ts'
import { expectationOf } from '../../scenarios/engine/expected-objects.ts'
import { describeSelection, listOptions } from '../../scenarios/engine/selection.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import type { Resource } from '../../components/machinery/objects/resource.ts'
import type { ObjectsCondition } from './check.ts'
import type { LessonPlace } from './lesson-place.ts'
import { savedFrom } from './saved-variables.ts'
import { notDone } from './verdict.ts'
import type { ConditionVerdict, ConditionVerdicts } from './verdict.ts'

/** The states of the objects of a resource that are selected. */
export function selectedStates(
  resource: Resource,
  selection: Omit<ObjectsCondition, 'kind'>,
  { place: { client }, signal }: { readonly place: LessonPlace; readonly signal: AbortSignal },
) {
  return observedStates({
    client: client.resource(resource),
    clock: client.clock,
    ...listOptions(selection, { isNamespaced: resource.namespaced, fallback: 'default' }),
    signal,
  })
}

/** A definition can bring the kind at any time. */
async function* untilServed(
  condition: ObjectsCondition,
  { place, signal }: { readonly place: LessonPlace; readonly signal: AbortSignal },
): AsyncGenerator<ConditionVerdict, Resource> {
  try {
    return await place.findResource(condition)
  } catch (error) {
    if (!(error instanceof UnknownKindError)) throw error
    yield notDone(error.message)
  }
  const definitions = place.resources.customResourceDefinitions
  for await (const _ of selectedStates(definitions, {}, { place, signal })) {
    try {
      return await place.findResource(condition)
    } catch (error) {
      if (!(error instanceof UnknownKindError)) throw error
    }
  }
  throw signal.reason as Error
}

export function objectVerdicts(condition: ObjectsCondition, place: LessonPlace): ConditionVerdicts {
  const expectation = expectationOf(condition)
  const judge = createJudge(expectation)
  const judged = (objects: readonly KubeObject[]): ConditionVerdict => {
    const { holds, matching, report } = judge(objects)
    const { saved, missing } = savedFrom(matching[0], holds ? condition.save : {})
    if (holds && missing === undefined) return { done: true, report: [], saved }
    return notDone(
      `expected: ${[describeSelection(condition), ...describeExpectation(expectation)].join(', ')}`,
      ...(missing === undefined ? report() : [`the object has no ${missing}`]),
    )
  }
  return async function* (signal) {
    const resource = yield* untilServed(condition, { place, signal })
    for await (const { objects } of selectedStates(resource, condition, { place, signal })) {
      yield judged([...objects.values()].map((one) => ({ ...one, kind: resource.kind })))
    }
  }
}
