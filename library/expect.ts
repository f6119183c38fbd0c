/** Expectations on a cluster: watches until they hold. The error shows what is there instead, and what happened. */
import { AssertionFailure } from '../scenarios/engine/assertion-failure.ts'
import { describeSelection } from '../scenarios/engine/selection.ts'
import { waitForExpectation } from '../scenarios/engine/wait-for-expectation.ts'
import type { Connection } from './connection.ts'
import { ExpectationError } from './expectation-error.ts'
import { checkExpectation } from './options.ts'
import type { Expectation, KubernetesObject } from './types.ts'

const defaultWithinMs = 10_000

/**
 * Resolves with the objects that match once the expectation holds, by the cluster's clock. Rejects with an ExpectationError, with
 * `signal.reason` when aborted, that of `fault` when the cluster itself fails, and with errors that waiting does not mend, such as a Forbidden.
 */
export async function expectObjects<T extends KubernetesObject = KubernetesObject>(
  expectation: Expectation,
  { client, kinds, namespace }: Connection,
  fault: AbortSignal = new AbortController().signal,
): Promise<T[]> {
  const checked = checkExpectation(expectation)
  const { where = [], match, count, absent = false, signal: given } = checked
  const signal = given === undefined ? fault : AbortSignal.any([given, fault])
  signal.throwIfAborted()
  try {
    const found: unknown = await kinds.request(checked, (resource) =>
      waitForExpectation(
        {
          client: client.resource(resource),
          selection: checked,
          namespace,
          expectation: { where: typeof where === 'string' ? [where] : where, match, count, absent },
          withinMs: checked.within ?? defaultWithinMs,
          staysMs: checked.stays ?? 0,
          clock: client.clock,
          signal,
        },
        () => signal.reason,
      ),
    )
    return found as T[]
  } catch (error) {
    if (!(error instanceof AssertionFailure)) throw error
    throw new ExpectationError(`expect ${describeSelection(checked)}`, error)
  }
}
