/**
 * Pod environment: the variables that a container finds, from its pod and from the config maps and secrets that it names
 * (upstream: kubelet_pods.go, makeEnvironmentVariables). Without those from resources.
 */
import type { ConfigMap, Container, EnvVarSource, Pod, Secret } from '../api/generated/types.ts'
import { resourcesOf } from '../api/resources.ts'
import type { Client } from '../client/client.ts'
import type { Log } from '../component-base/log.ts'
import { withReferences } from './variable-references.ts'

/** The pod's status has its addresses. What is not there, or cannot be read, is left out: never rejects. */
export type PodEnvironment = (
  pod: Pod,
  container: Container,
) => Promise<Readonly<Record<string, string>>>

type Values = ReadonlyMap<string, string>

/** What a field of the pod holds; undefined for a field that variables cannot be of. */
function fieldOf({ metadata, spec, status }: Pod, path: string): string | undefined {
  const [, which, key = ''] = /^metadata\.(annotations|labels)\['(.+)'\]$/.exec(path) ?? []
  if (which === 'annotations' || which === 'labels') {
    return new Map(Object.entries(metadata[which] ?? {})).get(key) ?? ''
  }
  const listed = (ips: readonly { ip?: string }[] = []): string => ips.map(({ ip }) => ip).join()
  const fields: Values = new Map([
    ['metadata.name', metadata.name ?? ''],
    ['metadata.namespace', metadata.namespace ?? ''],
    ['metadata.uid', metadata.uid ?? ''],
    ['spec.nodeName', spec?.nodeName ?? ''],
    ['spec.serviceAccountName', spec?.serviceAccountName ?? ''],
    ['status.hostIP', status?.hostIP ?? ''],
    ['status.hostIPs', listed(status?.hostIPs)],
    ['status.podIP', status?.podIP ?? ''],
    ['status.podIPs', listed(status?.podIPs)],
  ])
  return fields.get(path)
}

/** Reads config maps and secrets as the node, each once for one environment. */
export function createPodEnvironment({
  client,
  log,
}: {
  client: Client
  log: Log
}): PodEnvironment {
  const resources = resourcesOf(client.dialect)
  const configMaps = client.resource<ConfigMap>(resources.configMaps)
  const secrets = client.resource<Secret>(resources.secrets)

  const read = {
    configMap: async (namespace: string, name: string): Promise<Values> => {
      const { data } = await configMaps.get({ namespace, name })
      return new Map(Object.entries(data ?? {}))
    },
    secret: async (namespace: string, name: string): Promise<Values> => {
      const { data } = await secrets.get({ namespace, name })
      const entries = Object.entries(data ?? {})
      return new Map(entries.map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]))
    },
  }

  return async (pod, { name: container, env = [], envFrom = [] }) => {
    const { namespace = '' } = pod.metadata
    const known = new Map<string, Promise<Values>>()
    const once = (kind: keyof typeof read, name: string): Promise<Values> => {
      const key = `${kind} ${name}`
      const reading =
        known.get(key) ??
        read[kind](namespace, name).catch((error: unknown) => {
          log.info('a container goes without a part of its environment', { container, error })
          return new Map<string, string>()
        })
      known.set(key, reading)
      return reading
    }
    const valueOf = async (source: EnvVarSource): Promise<string | undefined> => {
      const { fieldRef, configMapKeyRef, secretKeyRef } = source
      if (fieldRef !== undefined) return fieldOf(pod, fieldRef.fieldPath)
      if (configMapKeyRef !== undefined) {
        return (await once('configMap', configMapKeyRef.name ?? '')).get(configMapKeyRef.key)
      }
      if (secretKeyRef === undefined) return undefined
      return (await once('secret', secretKeyRef.name ?? '')).get(secretKeyRef.key)
    }

    const variables = new Map<string, string>()
    for (const { prefix = '', configMapRef, secretRef } of envFrom) {
      const values =
        configMapRef !== undefined
          ? await once('configMap', configMapRef.name ?? '')
          : await once('secret', secretRef?.name ?? '')
      for (const [key, value] of values) variables.set(`${prefix}${key}`, value)
    }
    for (const { name, value = '', valueFrom } of env) {
      const found =
        valueFrom === undefined ? withReferences(value, variables) : await valueOf(valueFrom)
      if (found !== undefined) variables.set(name, found)
    }
    return Object.fromEntries(variables)
  }
}
