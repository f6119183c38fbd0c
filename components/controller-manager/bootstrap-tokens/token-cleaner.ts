/** Token cleaner: deletes bootstrap tokens when they have expired (upstream: controller/bootstrap/tokencleaner). */
import type { Secret } from '../../api/generated/types.ts'
import { runController, source } from '../../client/controller.ts'
import { splitKey } from '../../machinery/objects/object.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import type { ControllerEntry } from '../controller-context.ts'
import { expirationOf, tokenSecretType } from './token-secret.ts'

export const tokenCleaner: ControllerEntry = {
  name: 'token-cleaner-controller',
  aliases: ['tokencleaner'],
  defaultOn: false,
  start: async ({ client, informers, dialect, resources, clock, log, queues }, signal) => {
    const secrets = client.resource<Secret>(resources.secrets)
    const informer = informers.informer<Secret>(resources.secrets, {
      namespace: dialect.systemNamespace,
      fieldSelector: `type=${tokenSecretType(dialect)}`,
    })
    await runController(
      {
        queues,
        name: 'token-cleaner-controller',
        informers: [source(informer)],
        reconcile: async (key) => {
          const secret = informer.get(key)
          const endsAtMs = secret === undefined ? undefined : expirationOf(secret)
          if (secret === undefined || endsAtMs === undefined) return undefined
          const leftMs = endsAtMs - clock.now()
          if (leftMs > 0) return { requeueAfterMs: leftMs }
          const { uid } = secret.metadata
          try {
            await secrets.delete(splitKey(key), {
              ...(uid === undefined ? {} : { preconditions: { uid } }),
              signal,
            })
            log.info('expired bootstrap token deleted', { secret: key })
          } catch (error) {
            if (!isStatusError(error, 'NotFound')) throw error
          }
          return undefined
        },
        clock,
        log,
      },
      signal,
    )
  },
}
