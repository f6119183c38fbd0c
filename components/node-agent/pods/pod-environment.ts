/**
 * Pod environment: the variables that a container finds: from services, from its pod, from its resources, and from the config
 * maps and secrets that it names (upstream: kubelet_pods.go, makeEnvironmentVariables).
 */
import type {
  ConfigMap,
  Container,
  EnvFromSource,
  EnvVarSource,
  Pod,
  Secret,
} from '../../api/generated/types.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { Client } from '../../client/client.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import { RuntimeFault } from '../runtime/container-runtime.ts'
import { resourceFieldValue } from './resource-field.ts'
import type { ServicesFor } from './service-variables.ts'
import { serviceVariables } from './service-variables.ts'
import { withReferences } from '../runtime/variable-references.ts'

/**
 * The pod's status has its addresses. Rejects with a RuntimeFault (CreateContainerConfigError) when something that is not
 * optional is missing or cannot be read.
 */
export type PodEnvironment = (
  pod: Pod,
  container: Container,
) => Promise<Readonly<Record<string, string>>>

type Values = ReadonlyMap<string, string>

/** The value of a field of the pod; undefined for a field that variables cannot refer to. */
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

type SourceKind = 'configMap' | 'secret'
const shownKinds = { configMap: 'ConfigMap', secret: 'Secret' } as const

/** Values of config maps and secrets, each read once; undefined for an optional one that is not there. */
type ReadSource = (
  kind: SourceKind,
  source: { readonly name?: string; readonly optional?: boolean },
) => Promise<Values | undefined>

function createReader(client: Client): (namespace: string) => ReadSource {
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
  return (namespace) => {
    const known = new Map<string, Promise<Values>>()
    return async (kind, { name = '', optional = false }) => {
      const key = `${kind} ${name}`
      const reading = known.get(key) ?? read[kind](namespace, name)
      known.set(key, reading)
      try {
        return await reading
      } catch (error) {
        const isMissing = isStatusError(error, 'NotFound')
        if (isMissing && optional) return undefined
        if (isMissing) throw new Error(`${kind.toLowerCase()} "${name}" not found`)
        throw error
      }
    }
  }
}

async function* valuesFrom(
  sources: readonly EnvFromSource[],
  read: ReadSource,
): AsyncIterable<readonly [string, string]> {
  for (const { prefix = '', configMapRef, secretRef } of sources) {
    const values =
      configMapRef !== undefined
        ? await read('configMap', configMapRef)
        : secretRef && (await read('secret', secretRef))
    for (const [key, value] of values ?? []) yield [`${prefix}${key}`, value]
  }
}

export interface PodEnvironmentOptions {
  /** Reads config maps and secrets as the node. */
  readonly client: Client
  readonly servicesFor: ServicesFor
  /** The node's allocatable resources now. */
  readonly allocatable: () => Readonly<Record<string, string>>
}

export function createPodEnvironment(options: PodEnvironmentOptions): PodEnvironment {
  const { client, servicesFor, allocatable } = options
  const readerOf = createReader(client)

  const variablesOf = async (pod: Pod, container: Container): Promise<Map<string, string>> => {
    const { namespace = '' } = pod.metadata
    const read = readerOf(namespace)
    const valueOf = async (source: EnvVarSource): Promise<string | undefined> => {
      const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef } = source
      if (fieldRef !== undefined) return fieldOf(pod, fieldRef.fieldPath)
      if (resourceFieldRef !== undefined) {
        return resourceFieldValue(resourceFieldRef, { pod, container, allocatable: allocatable() })
      }
      const kind = configMapKeyRef === undefined ? 'secret' : 'configMap'
      const selector = configMapKeyRef ?? secretKeyRef
      if (selector === undefined) return undefined
      const { key, optional = false, name } = selector
      const value = (await read(kind, selector))?.get(key)
      if (value !== undefined || optional) return value
      throw new Error(`couldn't find key ${key} in ${shownKinds[kind]} ${namespace}/${name}`)
    }
    const enableLinks = pod.spec?.enableServiceLinks !== false
    const services = serviceVariables(await servicesFor(namespace), enableLinks)
    const own = new Map<string, string>()
    for await (const [name, value] of valuesFrom(container.envFrom ?? [], read)) {
      own.set(name, value)
    }
    for (const { name, value = '', valueFrom } of container.env ?? []) {
      const found =
        valueFrom === undefined
          ? withReferences(value, (known) => own.get(known) ?? services.get(known))
          : await valueOf(valueFrom)
      if (found !== undefined) own.set(name, found)
    }
    return new Map([...services, ...own])
  }

  return async (pod, container) => {
    try {
      return Object.fromEntries(await variablesOf(pod, container))
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      throw new RuntimeFault('CreateContainerConfigError', message, error)
    }
  }
}
