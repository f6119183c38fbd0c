/**
 * Notes the use of tokens in Secrets, so that the controller manager can remove unused ones: a label with the day on each
 * Secret, and a ConfigMap with the day since when (upstream: controlplane/controller/legacytokentracking, legacy.go).
 */
import type { Dialect } from '../../api/dialect.ts'
import { legacyTokenTracking, tokenDateOf } from '../../api/legacy-tokens.ts'
import type { Resources } from '../../api/resources.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import { splitKey } from '../../machinery/objects/object.ts'
import type { LocalClient } from '../registry/local-client.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import { runKeeper } from './run-keeper.ts'

export interface LegacyTokenOptions {
  readonly reader: ObjectReader
  readonly client: LocalClient
  readonly resources: Resources
  readonly dialect: Dialect
  /** Calls back with the `namespace/name` of a Secret whose token was used. Returns the way to stop. */
  readonly onLegacyTokenUse: (handler: (secret: string) => void) => () => void
  readonly clock: Clock
  readonly log: Log
}

/** Runs until `signal` aborts. */
export async function trackLegacyTokens(
  options: LegacyTokenOptions,
  signal: AbortSignal,
): Promise<void> {
  const { reader, resources, dialect, clock, log, onLegacyTokenUse } = options
  const { configMaps } = resources
  const start = `${dialect.systemNamespace}/${legacyTokenTracking(dialect).configMap}`
  const startKey = `configmaps/${start}`
  await runKeeper(
    {
      name: 'legacy-token-tracking',
      reconcile: async (key) => {
        if (key === startKey) await noteStart(options, start)
        else await noteUse(options, key.slice(key.indexOf('/') + 1))
      },
      watch: (add) => {
        add(startKey)
        return [
          reader.onChange(configMaps, ({ key }) => {
            if (key === start) add(startKey)
          }),
          onLegacyTokenUse((secret) => add(`secrets/${secret}`)),
        ]
      },
      clock,
      log,
    },
    signal,
  )
}

/** Makes sure of the ConfigMap, with a day in it. */
async function noteStart(
  { reader, client, resources, clock }: LegacyTokenOptions,
  key: string,
): Promise<void> {
  const { namespace, name } = splitKey(key)
  const { configMaps } = resources
  const data = { since: tokenDateOf(clock.now()) }
  const existing = reader.get(configMaps, namespace, name)
  if (existing === undefined) {
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name }, data }
    await client.create(configMaps, namespace, object)
    return
  }
  const since = (existing['data'] as Record<string, string> | undefined)?.['since'] ?? ''
  if (!/^\d{4}-\d{2}-\d{2}$/.test(since) || Number.isNaN(Date.parse(since)))
    await client.update(configMaps, namespace, {
      ...existing,
      data: { ...(existing['data'] as object | undefined), ...data },
    })
}

async function noteUse(
  { reader, client, resources, dialect, clock }: LegacyTokenOptions,
  key: string,
): Promise<void> {
  const { namespace, name } = splitKey(key)
  const { secrets } = resources
  const secret = reader.get(secrets, namespace, name)
  if (secret === undefined) return
  const { lastUsed } = legacyTokenTracking(dialect)
  const today = tokenDateOf(clock.now())
  const { metadata } = secret
  if (metadata.labels?.[lastUsed] === today) return
  const labels = { ...metadata.labels, [lastUsed]: today }
  await client.update(secrets, namespace, { ...secret, metadata: { ...metadata, labels } })
}
