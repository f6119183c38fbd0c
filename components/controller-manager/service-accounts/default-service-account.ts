/** Service accounts: every active namespace has the account `default` (upstream: controller/serviceaccount). */
import type { Namespace, ServiceAccount } from '../../api/generated/types.ts'
import { runController, source } from '../../client/controller.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import type { ControllerEntry } from '../controller-context.ts'
import { isActive, isNamespaceEnding } from '../namespace-state.ts'

const account = 'default'

export const defaultServiceAccount: ControllerEntry = {
  name: 'serviceaccount-controller',
  aliases: ['serviceaccount'],
  defaultOn: true,
  start: async ({ client, informers, resources, clock, log, queues }, signal) => {
    const accounts = client.resource<ServiceAccount>(resources.serviceAccounts)
    const namespaces = informers.informer<Namespace>(resources.namespaces)
    const known = informers.informer<ServiceAccount>(resources.serviceAccounts)
    await runController(
      {
        queues,
        name: 'serviceaccount-controller',
        informers: [
          source(namespaces),
          source(known, ({ metadata }) =>
            metadata.name === account && metadata.namespace ? [metadata.namespace] : [],
          ),
        ],
        reconcile: async (name) => {
          if (!isActive(namespaces.get(name)) || known.get(`${name}/${account}`) !== undefined)
            return
          try {
            await accounts.create({ metadata: { namespace: name, name: account } }, { signal })
          } catch (error) {
            if (!isNamespaceEnding(error) && !isStatusError(error, 'AlreadyExists')) throw error
          }
        },
        workers: 1,
        clock,
        log,
      },
      signal,
    )
  },
}
