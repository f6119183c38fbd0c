/** Indexes that controllers share on the one informer of pods (and of other owned objects). */
import type { Pod } from '../api/generated/types.ts'
import type { Informer } from '../client/informer.ts'
import type { KubeObject } from '../machinery/objects/object.ts'
import { controllerOf } from '../machinery/objects/object.ts'

const byController = 'controller'
const byNode = 'node'
const byNamespace = 'namespace'
const indexed = new WeakMap<object, Set<string>>()

/** Adds an index to an informer that several controllers share. Call it before the informer runs. */
export function addIndexOnce<T extends KubeObject>(
  informer: Informer<T>,
  name: string,
  valuesOf: (object: T) => readonly string[],
): void {
  const names = indexed.get(informer) ?? new Set()
  indexed.set(informer, names)
  if (names.has(name)) return
  names.add(name)
  informer.addIndex(name, valuesOf)
}

/** Lets `controlledBy` be asked. Call it before the informer runs. */
export function indexByController(informer: Informer): void {
  addIndexOnce(informer, byController, (object) => {
    const controller = controllerOf(object)
    return [controller === undefined ? `orphan/${object.metadata.namespace}` : controller.uid]
  })
}

/** The objects that name this controller, and those in its namespace that name none. */
export function controlledBy<T extends KubeObject>(
  informer: Informer<T>,
  owner: KubeObject,
): { readonly owned: readonly T[]; readonly orphans: readonly T[] } {
  const { uid = '', namespace = '' } = owner.metadata
  return {
    owned: informer.byIndex(byController, uid),
    orphans: informer.byIndex(byController, `orphan/${namespace}`),
  }
}

/** Lets `podsOnNode` be asked. Call it before the informer runs. */
export function indexByNode(pods: Informer<Pod>): void {
  addIndexOnce(pods, byNode, ({ spec }) => (spec?.nodeName ? [spec.nodeName] : []))
}

export function podsOnNode(pods: Informer<Pod>, node: string): readonly Pod[] {
  return pods.byIndex(byNode, node)
}

/** Lets `inNamespace` be asked. Call it before the informer runs. */
export function indexByNamespace<T extends KubeObject>(informer: Informer<T>): void {
  addIndexOnce(informer, byNamespace, ({ metadata }) => [metadata.namespace ?? ''])
}

export function inNamespace<T extends KubeObject>(
  informer: Informer<T>,
  namespace: string,
): readonly T[] {
  return informer.byIndex(byNamespace, namespace)
}
