/**
 * The graph of who owns whom, built from what watches tell (upstream: garbagecollector/graph_builder.go). It decides
 * what is worth a closer look. Nothing is deleted on its word, unless the server confirms that the object is still as it saw it.
 */
import type { KubeObject, OwnerReference } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { apiVersionOf } from '../../machinery/objects/resource.ts'

export const orphanFinalizer = 'orphan'
export const foregroundFinalizer = 'foregroundDeletion'

export type PropagationPolicy = 'Foreground' | 'Background' | 'Orphan'

/** What an object's finalizers ask of whoever deletes it (upstream: garbagecollector.go, attemptToDeleteItem). */
export function policyOf(finalizers: readonly string[]): PropagationPolicy {
  if (finalizers.includes(orphanFinalizer)) return 'Orphan'
  return finalizers.includes(foregroundFinalizer) ? 'Foreground' : 'Background'
}

const noOwners: readonly OwnerReference[] = []

/** One object, in as few bytes as will do. */
export class Vertex {
  readonly uid: string
  name: string
  namespace: string
  apiVersion: string
  kind: string
  /** Undefined while the object is only known from references to it. */
  resource: Resource | undefined
  owners: readonly OwnerReference[] = noOwners
  dependents: Set<Vertex> | undefined
  isBeingDeleted = false
  /** Deleted in the foreground: it goes after its dependents. */
  isDeletingDependents = false
  isOrphaning = false
  /** How a deletion with no policy of its own treats its dependents. */
  policy: PropagationPolicy = 'Background'
  /** Of the state that all this is from; '' while the object is only known from references to it. */
  resourceVersion = ''

  constructor(uid: string, reference: Omit<OwnerReference, 'uid'>, namespace: string) {
    this.uid = uid
    this.name = reference.name
    this.namespace = namespace
    this.apiVersion = reference.apiVersion
    this.kind = reference.kind
  }

  /** Dependents whose reference says that the owner waits for them. */
  blockingDependents(): Vertex[] {
    const isBlocking = ({ uid, blockOwnerDeletion }: OwnerReference): boolean =>
      uid === this.uid && blockOwnerDeletion === true
    return [...(this.dependents ?? [])].filter(({ owners }) => owners.some(isBlocking))
  }
}

export interface GraphOptions {
  /** Look at the object with this uid: its owners may be gone, or its dependents may. */
  readonly attemptToDelete: (uid: string) => void
  /** The object goes and its dependents stay. */
  readonly attemptToOrphan: (uid: string) => void
  /** The object is gone for sure. */
  readonly onAbsent: (vertex: Vertex) => void
}

export class OwnerGraph {
  readonly #vertices = new Map<string, Vertex>()
  readonly #options: GraphOptions
  /** One copy of each text that many objects share. */
  readonly #texts = new Map<string, string>()

  constructor(options: GraphOptions) {
    this.#options = options
  }

  get(uid: string): Vertex | undefined {
    return this.#vertices.get(uid)
  }

  get size(): number {
    return this.#vertices.size
  }

  /** The whole state of one resource: an object that is not in it was deleted. */
  replace(resource: Resource, objects: readonly KubeObject[]): void {
    const present = new Set(objects.map(({ metadata }) => metadata.uid))
    for (const object of objects) this.observe(resource, object)
    for (const vertex of this.#vertices.values()) {
      const { group, plural } = vertex.resource ?? { group: undefined, plural: '' }
      if (group !== resource.group || plural !== resource.plural) continue
      if (!present.has(vertex.uid)) this.forget(vertex.uid)
    }
  }

  /** An object as it is now. */
  observe(resource: Resource, { metadata }: KubeObject): void {
    const { uid = '', ownerReferences = noOwners, finalizers = [], resourceVersion = '' } = metadata
    const known = this.#vertices.get(uid)
    const isNew = known?.resource === undefined
    const vertex = known ?? this.#add(uid, metadata)
    if (isNew) this.#settle(vertex, resource, metadata)
    vertex.resourceVersion = resourceVersion
    vertex.policy = policyOf(finalizers)
    const before = vertex.owners
    vertex.owners =
      ownerReferences.length === 0 ? noOwners : ownerReferences.map((one) => this.#slim(one))
    this.#relink(vertex, before)
    this.#follow(vertex, {
      isBeingDeleted: metadata.deletionTimestamp !== undefined,
      finalizers,
      isNew,
    })
  }

  /** The object is gone. */
  forget(uid: string): void {
    const vertex = this.#vertices.get(uid)
    if (vertex?.resource === undefined) return
    this.#vertices.delete(uid)
    const { attemptToDelete, onAbsent } = this.#options
    if (vertex.dependents !== undefined) onAbsent(vertex)
    for (const dependent of vertex.dependents ?? []) attemptToDelete(dependent.uid)
    for (const { uid: ownerUid } of vertex.owners) {
      this.#unlink(vertex, ownerUid)
      if (this.#vertices.get(ownerUid)?.isDeletingDependents === true) attemptToDelete(ownerUid)
    }
  }

  #add(uid: string, metadata: KubeObject['metadata']): Vertex {
    const { name = '', namespace = '' } = metadata
    const vertex = new Vertex(uid, { apiVersion: '', kind: '', name }, this.#text(namespace))
    this.#vertices.set(uid, vertex)
    return vertex
  }

  /** The object is seen itself for the first time: what others said of it may have been wrong. */
  #settle(vertex: Vertex, resource: Resource, metadata: KubeObject['metadata']): void {
    vertex.resource = resource
    vertex.name = metadata.name ?? ''
    vertex.namespace = this.#text(metadata.namespace ?? '')
    vertex.apiVersion = this.#text(apiVersionOf(resource))
    vertex.kind = resource.kind
    for (const dependent of vertex.dependents ?? []) this.#checkReference(dependent, vertex)
  }

  /** A reference that names its owner wrongly does not count; whether it is so wrong is for a closer look. */
  #checkReference(dependent: Vertex, owner: Vertex): void {
    const reference = dependent.owners.find(({ uid }) => uid === owner.uid)
    if (reference === undefined) return
    const isRight =
      reference.name === owner.name &&
      reference.kind === owner.kind &&
      reference.apiVersion === owner.apiVersion &&
      (owner.resource?.namespaced === false || owner.namespace === dependent.namespace)
    if (!isRight) this.#options.attemptToDelete(dependent.uid)
  }

  #relink(vertex: Vertex, before: readonly OwnerReference[]): void {
    const { owners } = vertex
    if (before === owners) return
    const { attemptToDelete } = this.#options
    for (const old of before) {
      const now = owners.find(({ uid }) => uid === old.uid)
      if (now === undefined) this.#unlink(vertex, old.uid)
      // An owner that waited for this one need not any more.
      const isFree = old.blockOwnerDeletion === true && now?.blockOwnerDeletion !== true
      if (isFree && this.#vertices.get(old.uid) !== undefined) attemptToDelete(old.uid)
    }
    for (const reference of owners) {
      if (before.some(({ uid }) => uid === reference.uid)) continue
      const owner = this.#ownerOf(vertex, reference)
      owner.dependents ??= new Set()
      owner.dependents.add(vertex)
      this.#checkReference(vertex, owner)
    }
  }

  #ownerOf(vertex: Vertex, reference: OwnerReference): Vertex {
    const known = this.#vertices.get(reference.uid)
    if (known?.resource !== undefined) return known
    const owner = known ?? new Vertex(reference.uid, reference, vertex.namespace)
    this.#vertices.set(owner.uid, owner)
    // Also when other dependents named this owner before: the earlier check acted on those dependents only.
    this.#options.attemptToDelete(owner.uid)
    return owner
  }

  #unlink(vertex: Vertex, ownerUid: string): void {
    const owner = this.#vertices.get(ownerUid)
    owner?.dependents?.delete(vertex)
    if (owner === undefined || owner.dependents?.size !== 0) return
    owner.dependents = undefined
    if (owner.resource === undefined) this.#vertices.delete(ownerUid)
  }

  /** Notes how the object's deletion goes, and what is to be done when a new part of it begins. */
  #follow(
    vertex: Vertex,
    now: { isBeingDeleted: boolean; finalizers: readonly string[]; isNew: boolean },
  ): void {
    const { attemptToDelete, attemptToOrphan } = this.#options
    const is = (finalizer: string): boolean =>
      now.isBeingDeleted && now.finalizers.includes(finalizer)
    const wasOrphaning = vertex.isOrphaning
    const wasDeletingDependents = vertex.isDeletingDependents
    vertex.isBeingDeleted = now.isBeingDeleted
    vertex.isOrphaning = is(orphanFinalizer)
    vertex.isDeletingDependents = is(foregroundFinalizer)
    if (vertex.isOrphaning && !wasOrphaning) attemptToOrphan(vertex.uid)
    if (!vertex.isDeletingDependents || wasDeletingDependents) return
    for (const dependent of vertex.dependents ?? []) attemptToDelete(dependent.uid)
    attemptToDelete(vertex.uid)
  }

  #slim(reference: OwnerReference): OwnerReference {
    const { controller, blockOwnerDeletion } = reference
    const owner = this.#vertices.get(reference.uid)
    return {
      apiVersion: this.#text(reference.apiVersion),
      kind: this.#text(reference.kind),
      name: owner?.name === reference.name ? owner.name : reference.name,
      uid: owner?.uid ?? reference.uid,
      ...(controller === undefined ? {} : { controller }),
      ...(blockOwnerDeletion === undefined ? {} : { blockOwnerDeletion }),
    }
  }

  #text(text: string): string {
    const known = this.#texts.get(text)
    if (known !== undefined) return known
    // Namespaces come and go: a full table starts anew, with the texts in use now.
    if (this.#texts.size >= 10_000) this.#texts.clear()
    this.#texts.set(text, text)
    return text
  }
}
