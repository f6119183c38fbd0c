/** The questions of `skiff why` about objects: one of them, or all that is pending. */
import type { Cluster } from '../cluster.ts'
import { createAskScheduler } from '../why/ask-scheduler.ts'
import { explainObject } from '../why/explain-object.ts'
import { explainPending } from '../why/explain-pending.ts'
import type { Source } from '../why/read-related.ts'
import { verbFault } from '../why/request-verbs.ts'
import type { CommandContext } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { usage, type WhyFlags } from './why-flags.ts'
import { objectText, pendingText } from './why-object-text.ts'

export type ObjectQuestion =
  | { readonly kind: 'pending' }
  | { readonly kind: 'object'; readonly type: string; readonly name: string }

/** `pending`, `KIND NAME` or `KIND/NAME`. Throws a usage error for anything else. */
export function objectQuestion(args: readonly string[]): ObjectQuestion {
  const [first = '', second] = args
  // A kind of that name can still be asked for by `kind.group`.
  const isVerb = first !== '' && verbFault(first, 'resource') === undefined
  if (isVerb) throw usage('the user is missing: pass --as USER')
  if (first === 'pending' && second === undefined) return { kind: 'pending' }
  const [type = '', name, ...more] = second === undefined ? first.split('/') : [first, second]
  if (name === undefined || name === '' || type === '' || more.length > 0) {
    throw usage(
      'skiff why needs KIND NAME, pending, VERB RESOURCE with --as USER, -f FILE, --token-file FILE or --last',
    )
  }
  return { kind: 'object', type, name }
}

/** Exits with 0 when the object is fine, or nothing is pending. */
export async function showObject(
  cluster: Cluster,
  { terminal, clock }: CommandContext,
  asked: { readonly given: WhyFlags; readonly question: ObjectQuestion },
): Promise<number> {
  const { question, given } = asked
  const source: Source = {
    client: cluster.client,
    askScheduler: createAskScheduler(cluster),
    nowMs: clock.now(),
  }
  const isJson = given.output === 'json'
  const shown = { colors: terminal.outColors, nowMs: source.nowMs }
  const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`
  if (question.kind === 'pending') {
    const answer = await explainPending(source, given['all-namespaces'] ? '' : given.namespace)
    terminal.out(isJson ? json(answer) : pendingText(answer, shown))
    return answer.isFine ? exitCodes.ok : exitCodes.failed
  }
  const { type: kind, name } = question
  const answer = await explainObject(source, { kind, name, namespace: given.namespace })
  terminal.out(isJson ? json(answer) : objectText(answer, shown))
  return answer.isFine ? exitCodes.ok : exitCodes.failed
}
