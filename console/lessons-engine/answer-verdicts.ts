/** Answer verdicts: whether a request gets the expected answer, asked anew after each change of the kinds that it depends on. */
import { ConnectionError } from '../../components/client/connection-error.ts'
import { brief } from '../../components/machinery/objects/differences.ts'
import { answerFaults, answerTo } from '../../scenarios/engine/expected-answer.ts'
import type { AnswerCondition } from './check.ts'
import { impersonating } from './impersonation.ts'
import type { LessonPlace } from './lesson-place.ts'
import { selectedStates } from './object-verdicts.ts'
import { savedFrom } from './saved-variables.ts'
import { notDone } from './verdict.ts'
import type { ConditionVerdict, ConditionVerdicts } from './verdict.ts'
import { createWakeUp } from './wake.ts'
import type { WakeUp } from './wake.ts'

/** Of several API servers, one may answer before it has seen the change: after a change the request is sent again this often. */
const againAfterMs = [250, 500, 1000, 2000]

async function ask(
  condition: AnswerCondition,
  { client, signal }: { readonly client: LessonPlace['client']; readonly signal: AbortSignal },
): Promise<ConditionVerdict> {
  const { as, method = 'GET', path, expect = {}, save } = condition
  const rest = as === undefined ? client.rest : impersonating(client.rest, as)
  const asked = `${method} ${path}`
  try {
    const answer = await answerTo(condition, { rest, signal })
    const faults = answerFaults(answer, expect)
    const { saved, missing } = savedFrom(answer.body, save)
    if (faults.length === 0 && missing === undefined) return { done: true, report: [], saved }
    if (faults.length === 0) return notDone(`${asked}: the answer has no ${missing ?? ''}`)
    return notDone(`${asked}: ${faults.join('; ')}: ${brief(answer.text, 200)}`)
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof ConnectionError)) throw error
    return notDone(`${asked}: ${error.message}`)
  }
}

/** Wakes at each change of one of the kinds, until the signal aborts; rejects with what a watch cannot get over. */
async function wakeAtChanges(
  kinds: readonly string[],
  { place, signal, wakeUp }: { place: LessonPlace; signal: AbortSignal; wakeUp: WakeUp },
): Promise<void> {
  await Promise.all(
    kinds.map(async (kind) => {
      const resource = await place.findResource({ kind })
      for await (const _ of selectedStates(resource, { namespace: '*' }, { place, signal }))
        wakeUp.wake()
    }),
  )
}

export function answerVerdicts(condition: AnswerCondition, place: LessonPlace): ConditionVerdicts {
  const { client } = place
  return async function* (signal) {
    yield await ask(condition, { client, signal })
    const left = new AbortController()
    const either = AbortSignal.any([signal, left.signal])
    const wakeUp = createWakeUp()
    wakeAtChanges(condition.again, { place, signal: either, wakeUp }).catch((error: unknown) =>
      left.abort(error),
    )
    try {
      for (;;) {
        await wakeUp.next(either)
        let verdict = await ask(condition, { client, signal: either })
        yield verdict
        for (const ms of againAfterMs) {
          if (verdict.done) break
          await client.clock.sleep(ms, either)
          verdict = await ask(condition, { client, signal: either })
          yield verdict
        }
      }
    } finally {
      left.abort(new Error('seen enough'))
    }
  }
}
