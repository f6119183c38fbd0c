/** NodeGraph: which objects are related to which node through the pods bound to it (upstream: authorizer/node/graph.go). */
import type { Dialect } from '../../api/dialect.ts'
import type { NodeWay } from '../../api/explanations.ts'
import type { PersistentVolume, Pod } from '../../api/generated/types.ts'
import type { Resources } from '../../api/resources.ts'
import { resourcesOf } from '../../api/resources.ts'
import { keyOf } from '../../machinery/objects/object.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import {
  podClaims,
  podConfigMaps,
  podResourceClaims,
  podSecrets,
  volumeSecretKeys,
} from '../../api/pod-references.ts'

/** Kinds that pods name. */
export type ReferencedKind =
  'configmap' | 'persistentvolumeclaim' | 'pod' | 'resourceclaim' | 'secret' | 'serviceaccount'

interface KnownPod {
  readonly nodeName: string
  readonly references: readonly string[]
}

export class NodeGraph {
  readonly #reader: ObjectReader
  readonly #resources: Resources
  readonly #mirrorAnnotation: string
  /** reference -> node -> how many pods on that node name it. */
  readonly #nodes = new Map<string, Map<string, number>>()
  readonly #pods = new Map<string, KnownPod>()
  /** `namespace/name` of a Secret -> names of the volumes that need it. */
  readonly #volumesBySecret = new Map<string, Set<string>>()
  readonly #secretsByVolume = new Map<string, readonly string[]>()
  #staleVolumes = new Set<string>()
  readonly #stops: (() => void)[]

  /** Follows pods and volumes until `stop`; the first query reads the stored ones. */
  constructor(reader: ObjectReader, dialect: Dialect) {
    this.#reader = reader
    this.#resources = resourcesOf(dialect)
    this.#mirrorAnnotation = `${dialect.labelDomain}/config.mirror`
    const { pods, persistentVolumes } = this.#resources
    this.#stops = [
      reader.onChange(pods, ({ type, key, object }) => {
        // Those who watch the pods of a node have it decoded: this look costs no other decoding.
        if (this.#isRead) this.#setPod(key, type === 'DELETED' ? undefined : (object() as Pod))
      }),
      reader.onChange(persistentVolumes, ({ key }) => {
        if (this.#isRead) this.#staleVolumes.add(key)
      }),
    ]
  }

  #isRead = false

  stop(): void {
    for (const stop of this.#stops) stop()
  }

  /** Whether a pod bound to the node names the object (or is it), directly or through a claim and its volume. */
  isRelated(nodeName: string, kind: ReferencedKind, key: string): boolean {
    this.#refresh()
    if (this.#nodes.get(`${kind}:${key}`)?.has(nodeName) === true) return true
    if (kind !== 'secret') return false
    const volumes = this.#volumesBySecret.get(key) ?? []
    return [...volumes].some((name) => this.isVolumeRelated(nodeName, name))
  }

  /** Whether the volume is bound to a claim that a pod on the node names. */
  isVolumeRelated(nodeName: string, volumeName: string): boolean {
    this.#refresh()
    const volume = this.#reader.get(this.#resources.persistentVolumes, '', volumeName)
    const claim = (volume as PersistentVolume | undefined)?.spec?.claimRef
    if (!claim?.name) return false
    const reference = `persistentvolumeclaim:${claim.namespace ?? ''}/${claim.name}`
    return this.#nodes.get(reference)?.has(nodeName) === true
  }

  /** Every path from a node to the object, for explanations: reads every pod. */
  waysTo(kind: ReferencedKind | 'persistentvolume', key: string): NodeWay[] {
    this.#refresh()
    if (kind === 'persistentvolume') {
      const volume = this.#reader.get(this.#resources.persistentVolumes, '', key)
      const claim = (volume as PersistentVolume | undefined)?.spec?.claimRef
      if (!claim?.name) return []
      return this.#waysOver('persistentvolumeclaim', `${claim.namespace ?? ''}/${claim.name}`, [
        `persistentvolume ${key}`,
      ])
    }
    const volumes = kind === 'secret' ? [...(this.#volumesBySecret.get(key) ?? [])] : []
    return [
      ...this.#waysOver(kind, key, []),
      ...volumes
        .flatMap((name) => this.waysTo('persistentvolume', name))
        .map(({ node, path }) => ({ node, path: [...path, `${kind} ${key}`] })),
    ]
  }

  #waysOver(kind: ReferencedKind, key: string, more: readonly string[]): NodeWay[] {
    const reference = `${kind}:${key}`
    return [...this.#pods].flatMap(([pod, { nodeName, references }]) => {
      if (!references.includes(reference)) return []
      const own = kind === 'pod' ? [] : [`${kind} ${key}`]
      return [{ node: nodeName, path: [`pod ${pod}`, ...own, ...more] }]
    })
  }

  /** The first query reads what is stored; later ones the volumes that have changed since. */
  #refresh(): void {
    const { pods, persistentVolumes } = this.#resources
    if (!this.#isRead) {
      this.#isRead = true
      for (const pod of this.#reader.list(pods)) this.#setPod(keyOf(pod), pod as Pod)
      for (const volume of this.#reader.list(persistentVolumes)) {
        this.#setVolume(keyOf(volume), volume as PersistentVolume)
      }
    }
    if (this.#staleVolumes.size > 0) {
      const stale = this.#staleVolumes
      this.#staleVolumes = new Set()
      for (const key of stale) {
        this.#setVolume(
          key,
          this.#reader.get(persistentVolumes, '', key) as PersistentVolume | undefined,
        )
      }
    }
  }

  #setPod(key: string, pod: Pod | undefined): void {
    const old = this.#pods.get(key)
    if (old !== undefined) {
      this.#pods.delete(key)
      for (const reference of old.references) this.#count(reference, old.nodeName, -1)
    }
    const nodeName = pod?.spec?.nodeName
    if (pod === undefined || !nodeName) return
    const references = this.#referencesOf(key, pod)
    this.#pods.set(key, { nodeName, references })
    for (const reference of references) this.#count(reference, nodeName, 1)
  }

  #referencesOf(key: string, pod: Pod): string[] {
    const self = `pod:${key}`
    // A node creates its mirror pods itself, so they must not give it access to other objects.
    if (pod.spec === undefined || this.#mirrorAnnotation in (pod.metadata.annotations ?? {})) {
      return [self]
    }
    const { namespace = '' } = pod.metadata
    const within = (kind: ReferencedKind) => (name: string) => `${kind}:${namespace}/${name}`
    const account = pod.spec.serviceAccountName
    return [
      self,
      ...(account ? [within('serviceaccount')(account)] : []),
      ...podSecrets(pod.spec).map(within('secret')),
      ...podConfigMaps(pod.spec).map(within('configmap')),
      ...podClaims(pod).map(within('persistentvolumeclaim')),
      ...podResourceClaims(pod).map(within('resourceclaim')),
    ]
  }

  #count(reference: string, nodeName: string, change: 1 | -1): void {
    let nodes = this.#nodes.get(reference)
    if (nodes === undefined) {
      nodes = new Map()
      this.#nodes.set(reference, nodes)
    }
    const count = (nodes.get(nodeName) ?? 0) + change
    if (count > 0) nodes.set(nodeName, count)
    else nodes.delete(nodeName)
    if (nodes.size === 0) this.#nodes.delete(reference)
  }

  #setVolume(name: string, volume: PersistentVolume | undefined): void {
    for (const secret of this.#secretsByVolume.get(name) ?? []) {
      const volumes = this.#volumesBySecret.get(secret)
      volumes?.delete(name)
      if (volumes?.size === 0) this.#volumesBySecret.delete(secret)
    }
    this.#secretsByVolume.delete(name)
    const secrets = volume?.spec?.claimRef ? volumeSecretKeys(volume) : []
    if (secrets.length === 0) return
    this.#secretsByVolume.set(name, secrets)
    for (const secret of secrets) {
      const volumes = this.#volumesBySecret.get(secret) ?? new Set()
      this.#volumesBySecret.set(secret, volumes.add(name))
    }
  }
}
