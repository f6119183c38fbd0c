/** Keeps the status of every ValidatingAdmissionPolicy: the type errors in its expressions (upstream: controller/validatingadmissionpolicystatus). */
import type { ValidatingAdmissionPolicy } from '../../api/generated/types.ts'
import type { Resources } from '../../api/resources.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import type { LocalClient } from '../registry/local-client.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import { runKeeper } from './run-keeper.ts'

export interface PolicyStatusOptions {
  readonly reader: ObjectReader
  readonly client: LocalClient
  readonly resources: Resources
  /** All kinds that are served now. */
  readonly served: () => readonly Resource[]
  readonly clock: Clock
  readonly log: Log
}

/** Runs until `signal` aborts. Checks each generation of a policy once, and loads the evaluator for the first policy. */
export async function keepPolicyStatus(
  options: PolicyStatusOptions,
  signal: AbortSignal,
): Promise<void> {
  const { reader, client, clock, log, served } = options
  const { validatingAdmissionPolicies: policies } = options.resources
  await runKeeper(
    {
      name: 'admission-policy-status',
      reconcile: async (name) => {
        const policy = reader.get(policies, '', name) as ValidatingAdmissionPolicy | undefined
        const observedGeneration = policy?.metadata.generation ?? 0
        if (policy?.spec === undefined) return
        if (observedGeneration <= (policy.status?.observedGeneration ?? 0)) return
        const { typeWarnings } = await import('./type-checking.ts')
        const expressionWarnings = typeWarnings(policy.spec, served())
        const typeChecking = expressionWarnings.length === 0 ? {} : { expressionWarnings }
        const status = { ...policy.status, observedGeneration, typeChecking }
        await client.updateStatus(policies, '', { ...policy, status })
      },
      watch: (add) => {
        for (const { metadata } of reader.list(policies)) add(metadata.name ?? '')
        return [
          reader.onChange(policies, ({ type, key }) => {
            if (type !== 'DELETED') add(key)
          }),
        ]
      },
      clock,
      log,
    },
    signal,
  )
}
