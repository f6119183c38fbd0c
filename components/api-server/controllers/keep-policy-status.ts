/** Keeps the status of every ValidatingAdmissionPolicy: what its expressions get wrong about types (upstream: controller/validatingadmissionpolicystatus). */
import type { ValidatingAdmissionPolicy } from '../../api/generated/types.ts'
import type { Resources } from '../../api/resources.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import type { LocalClient } from '../registry/local-client.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'

const retryMs = 1000

export interface PolicyStatusOptions {
  readonly reader: ObjectReader
  readonly client: LocalClient
  readonly resources: Resources
  /** All kinds that are served just now. */
  readonly served: () => readonly Resource[]
  readonly clock: Clock
  readonly log: Log
}

/** Runs until `signal` aborts; looks at each generation once. Loads the evaluator for the first policy. */
export async function keepPolicyStatus(
  options: PolicyStatusOptions,
  signal: AbortSignal,
): Promise<void> {
  const { reader, client, clock, log, served } = options
  const { validatingAdmissionPolicies: policies } = options.resources
  const open = new Set<string>()
  let wake = (): void => {}
  const look = (name: string): void => {
    open.add(name)
    wake()
  }

  async function settle(name: string): Promise<void> {
    const policy = reader.get(policies, '', name) as ValidatingAdmissionPolicy | undefined
    const observedGeneration = policy?.metadata.generation ?? 0
    if (policy?.spec === undefined) return
    if (observedGeneration <= (policy.status?.observedGeneration ?? 0)) return
    const [{ loadCel }, { typeWarnings }] = await Promise.all([
      import('../expressions/cel-module.ts'),
      import('./type-checking.ts'),
    ])
    await loadCel()
    const expressionWarnings = typeWarnings(policy.spec, served())
    const typeChecking = expressionWarnings.length === 0 ? {} : { expressionWarnings }
    const status = { ...policy.status, observedGeneration, typeChecking }
    try {
      await client.updateStatus(policies, '', { ...policy, status })
    } catch (error) {
      // Another write was first: its event brings the policy back here.
      if (isStatusError(error, 'Conflict', 'NotFound')) return
      log.warn('the status of an admission policy could not be written', { name, error })
      await clock.sleep(retryMs, signal)
      open.add(name)
    }
  }

  const stop = reader.onChange(policies, ({ type, key }) => {
    if (type !== 'DELETED') look(key)
  })
  signal.addEventListener('abort', () => wake(), { once: true })
  try {
    for (const { metadata } of reader.list(policies)) look(metadata.name ?? '')
    while (!signal.aborted) {
      const [name] = open
      if (name === undefined) {
        await new Promise<void>((resolve) => (wake = resolve))
        continue
      }
      open.delete(name)
      await settle(name)
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    stop()
  }
}
