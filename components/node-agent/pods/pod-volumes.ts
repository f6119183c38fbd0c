/**
 * Pod volumes: whether the claims, ConfigMaps and Secrets that a pod mounts are there. Nothing is mounted, but until they are no
 * container starts (upstream: pkg/kubelet/volumemanager, desired_state_of_world_populator.go).
 */
import type {
  ConfigMap,
  KeyToPath,
  PersistentVolumeClaim,
  Pod,
  Secret,
  Volume,
} from '../../api/generated/types.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { Client } from '../../client/client.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import { messageOf } from '../../component-base/log.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'

export interface PodVolumes {
  /** False for a pod whose volumes need nothing, as most. */
  needsCheck(pod: Pod): boolean
  /** Why volumes cannot be mounted now, as the messages of events; none when they can. */
  check(pod: Pod): Promise<string[]>
}

interface MountedSource {
  readonly kind: 'configMap' | 'secret'
  readonly name: string
  readonly items: readonly KeyToPath[]
  readonly isOptional: boolean
}

/** The ConfigMaps and Secrets of one volume. */
function sourcesOf({ configMap, secret, projected }: Volume): MountedSource[] {
  const single: MountedSource[] = []
  if (configMap !== undefined) {
    const { name = '', items = [], optional = false } = configMap
    single.push({ kind: 'configMap', name, items, isOptional: optional })
  }
  if (secret !== undefined) {
    const { secretName = '', items = [], optional = false } = secret
    single.push({ kind: 'secret', name: secretName, items, isOptional: optional })
  }
  const parts = (projected?.sources ?? []).flatMap((source): MountedSource[] => {
    const kind = source.configMap === undefined ? 'secret' : 'configMap'
    const part = source.configMap ?? source.secret
    if (part === undefined) return []
    const { name = '', items = [], optional = false } = part
    return [{ kind, name, items, isOptional: optional }]
  })
  return [...single, ...parts]
}

/** The name of the claim of a volume; undefined for other volumes. */
function claimNameOf({ metadata }: Pod, volume: Volume): string | undefined {
  if (volume.ephemeral !== undefined) return `${metadata.name ?? ''}-${volume.name}`
  return volume.persistentVolumeClaim?.claimName
}

interface Readers {
  readonly claims: ResourceClient<PersistentVolumeClaim>
  readonly configMap: ResourceClient<ConfigMap>
  readonly secret: ResourceClient<Secret>
}

async function claimFault(
  { claims }: Readers,
  namespace: string,
  name: string,
): Promise<string | undefined> {
  try {
    const { metadata, spec, status } = await claims.get({ namespace, name })
    if (metadata.deletionTimestamp !== undefined) return 'PVC is being deleted'
    if (status?.phase !== 'Bound') return 'PVC is not bound'
    return spec?.volumeName ? undefined : 'PVC has empty pvc.Spec.VolumeName'
  } catch (error) {
    return `failed to fetch PVC from API server: ${messageOf(error)}`
  }
}

async function sourceFault(
  readers: Readers,
  namespace: string,
  { kind, name, items, isOptional }: MountedSource,
): Promise<string | undefined> {
  try {
    const object: ConfigMap = await readers[kind].get({ namespace, name })
    const { data, binaryData } = object
    const missing = items.find(({ key }) => (data?.[key] ?? binaryData?.[key]) === undefined)
    if (missing === undefined || isOptional) return undefined
    const noun = kind === 'configMap' ? 'config' : 'secret'
    return `references non-existent ${noun} key: ${missing.key}`
  } catch (error) {
    if (!isStatusError(error, 'NotFound')) return messageOf(error)
    return isOptional ? undefined : `${kind.toLowerCase()} "${name}" not found`
  }
}

export function createPodVolumes(client: Client): PodVolumes {
  const { dialect } = client
  const resources = resourcesOf(dialect)
  const readers: Readers = {
    claims: client.resource<PersistentVolumeClaim>(resources.persistentVolumeClaims),
    configMap: client.resource<ConfigMap>(resources.configMaps),
    secret: client.resource<Secret>(resources.secrets),
  }
  /** Every pod has that one with its token; a request for each would slow all of them down. */
  const isCommon = ({ kind, name }: MountedSource): boolean =>
    kind === 'configMap' && name === dialect.rootCaConfigMap
  const checkedSources = (volume: Volume): MountedSource[] =>
    sourcesOf(volume).filter((source) => !isCommon(source))
  const volumeFaults = async (pod: Pod, volume: Volume): Promise<string[]> => {
    const { namespace = '' } = pod.metadata
    const claimName = claimNameOf(pod, volume)
    if (claimName !== undefined) {
      const fault = await claimFault(readers, namespace, claimName)
      if (fault === undefined) return []
      const lists = `unmounted volumes=[${volume.name}], unattached volumes=[], failed to process volumes=[${volume.name}]`
      return [
        `Unable to attach or mount volumes: ${lists}: error processing PVC ${namespace}/${claimName}: ${fault}`,
      ]
    }
    const faults = await Promise.all(
      checkedSources(volume).map((source) => sourceFault(readers, namespace, source)),
    )
    return faults
      .filter((fault) => fault !== undefined)
      .map((fault) => `MountVolume.SetUp failed for volume "${volume.name}" : ${fault}`)
  }
  return {
    needsCheck: (pod) =>
      (pod.spec?.volumes ?? []).some(
        (volume) => claimNameOf(pod, volume) !== undefined || checkedSources(volume).length > 0,
      ),
    check: async (pod) => {
      const volumes = pod.spec?.volumes ?? []
      const faults = await Promise.all(volumes.map((volume) => volumeFaults(pod, volume)))
      return faults.flat()
    },
  }
}
