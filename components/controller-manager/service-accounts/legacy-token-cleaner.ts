/**
 * Removes unused token Secrets that were made for service accounts automatically: marks them invalid first, and deletes them
 * later (upstream: legacy_serviceaccount_token_cleaner.go; KEP-2799).
 */
import { backgroundOf } from '../../component-base/clock.ts'
import type { Dialect } from '../../api/dialect.ts'
import { labelKey } from '../../api/dialect.ts'
import type { ConfigMap, Pod, Secret, ServiceAccount } from '../../api/generated/types.ts'
import { podSecrets } from '../../api/pod-references.ts'
import { legacyTokenTracking, tokenDateOf } from '../../api/legacy-tokens.ts'
import type { Informer } from '../../client/informer.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import { StartError } from '../../component-base/component.ts'
import { messageOf } from '../../component-base/log.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { inNamespace, indexByNamespace } from '../pod-indexes.ts'
import { untilReady } from '../until-ready.ts'
import { belongsTo, tokenSecretInformer } from './token-secrets.ts'

const name = 'legacy-serviceaccount-token-cleaner-controller'
const dayMs = 86_400_000
const periodMs = dayMs

export type TokenFate = 'keep' | 'mark' | 'delete'

/**
 * What becomes of a token Secret that an account lists and no pod mounts; `unusedSinceMs` is the time since when it must have
 * been unused. Dates compare as texts. Pure.
 */
export function fateOf(
  { metadata }: Secret,
  { unusedSinceMs, dialect }: { unusedSinceMs: number; dialect: Dialect },
): TokenFate {
  const { labels = {}, creationTimestamp, deletionTimestamp } = metadata
  const isYoung = !(Date.parse(creationTimestamp ?? '') < unusedSinceMs)
  if (isYoung || deletionTimestamp !== undefined) return 'keep'
  const keys = legacyTokenTracking(dialect)
  const since = tokenDateOf(unusedSinceMs)
  const lastUsed = labels[keys.lastUsed]
  if (lastUsed !== undefined && (!isDate(lastUsed) || lastUsed >= since)) return 'keep'
  const invalidSince = labels[keys.invalidSince] ?? ''
  if (!isDate(invalidSince)) return 'mark'
  return invalidSince >= since ? 'keep' : 'delete'
}

function isDate(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text))
}

interface TokenCleaning {
  readonly context: ControllerContext
  readonly secrets: Informer<Secret>
  readonly accounts: Informer<ServiceAccount>
  readonly pods: Informer<Pod>
  readonly secretClient: ResourceClient<Secret>
  readonly configMapClient: ResourceClient<ConfigMap>
}

/** Runs until `signal` aborts. Rejects with a StartError for a period that is not positive. */
async function runTokenCleaner(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { client, informers, resources, dialect, clock, log, options } = context
  if (options['legacy-service-account-token-clean-up-period'] <= 0)
    throw new StartError('--legacy-service-account-token-clean-up-period must be positive')
  const cleaning: TokenCleaning = {
    context,
    secrets: tokenSecretInformer({ informers, resources, dialect }),
    accounts: informers.informer<ServiceAccount>(resources.serviceAccounts),
    pods: informers.informer<Pod>(resources.pods),
    secretClient: client.resource<Secret>(resources.secrets),
    configMapClient: client.resource<ConfigMap>(resources.configMaps),
  }
  indexByNamespace(cleaning.pods)
  if (!(await untilReady([cleaning.secrets, cleaning.accounts, cleaning.pods], signal))) return
  while (!signal.aborted) {
    try {
      await cleanTokens(cleaning)
    } catch (error) {
      log.warn('legacy tokens not looked after; trying again', { why: messageOf(error) })
    }
    try {
      await backgroundOf(clock).sleep(periodMs, signal)
    } catch {
      // Only an abort ends the sleep early.
      return
    }
  }
}

/** The start of the day after the one on which the API server began to note uses of tokens. */
async function trackedSinceMs({ configMapClient, context }: TokenCleaning): Promise<number> {
  const { systemNamespace: namespace } = context.dialect
  const { configMap } = legacyTokenTracking(context.dialect)
  const { data } = await configMapClient.get({ namespace, name: configMap })
  const since = data?.['since']
  if (since === undefined)
    throw new Error(`the ConfigMap ${namespace}/${configMap} has no key "since"`)
  if (!isDate(since)) throw new Error(`error parsing trackedSince time: ${since}`)
  return Date.parse(since) + dayMs
}

async function cleanTokens(cleaning: TokenCleaning): Promise<void> {
  const { context, secrets, pods } = cleaning
  const { clock, dialect, log, options } = context
  const unusedSinceMs = clock.now() - options['legacy-service-account-token-clean-up-period']
  if (unusedSinceMs < (await trackedSinceMs(cleaning))) return
  for (const secret of secrets.list()) {
    const { namespace = '', name: secretName = '' } = secret.metadata
    const fate = fateOf(secret, { unusedSinceMs, dialect })
    if (fate === 'keep' || !isListed(cleaning, secret)) continue
    const isMounted = inNamespace(pods, namespace).some(({ spec }) =>
      podSecrets(spec ?? { containers: [] }).includes(secretName),
    )
    if (isMounted) continue
    try {
      await (fate === 'mark' ? mark(cleaning, secret) : remove(cleaning, secret))
    } catch (error) {
      if (!isStatusError(error, 'Conflict', 'NotFound'))
        log.warn('legacy token not cleaned up', {
          secret: secretName,
          namespace,
          why: messageOf(error),
        })
    }
  }
}

/** Whether the Secret's account lists it, as it does those that were made automatically. */
function isListed({ accounts, context }: TokenCleaning, secret: Secret): boolean {
  const { namespace, name: secretName, annotations } = secret.metadata
  const account = annotations?.[labelKey(context.dialect, '', 'service-account.name')]
  const found = account ? accounts.get(`${namespace}/${account}`) : undefined
  if (found === undefined || !belongsTo(secret, found, context.dialect)) return false
  return (found.secrets ?? []).some((reference) => reference.name === secretName)
}

async function mark({ secretClient, context }: TokenCleaning, secret: Secret): Promise<void> {
  const { namespace, name: secretName = '', uid } = secret.metadata
  const invalidSince = tokenDateOf(context.clock.now())
  const labels = { [legacyTokenTracking(context.dialect).invalidSince]: invalidSince }
  const patch = { metadata: { uid, labels } }
  await secretClient.patch({ namespace, name: secretName }, patch, { type: 'merge' })
  context.log.info('Mark the auto-generated service account token as invalid', {
    secret: `${namespace}/${secretName}`,
    invalidSince,
  })
}

async function remove({ secretClient, context }: TokenCleaning, secret: Secret): Promise<void> {
  const { namespace, name: secretName = '', resourceVersion } = secret.metadata
  const preconditions = resourceVersion === undefined ? {} : { preconditions: { resourceVersion } }
  await secretClient.delete({ namespace, name: secretName }, preconditions)
  context.log.info('Delete auto-generated service account token', {
    secret: `${namespace}/${secretName}`,
  })
}

export const legacyTokenCleaner: ControllerEntry = {
  name,
  aliases: ['legacy-service-account-token-cleaner'],
  defaultOn: true,
  start: runTokenCleaner,
}
