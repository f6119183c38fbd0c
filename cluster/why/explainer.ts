/** Explainer: what `skiff why` knows about one kind. */
import type { Dialect } from '../../components/api/dialect.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { escapeFieldValue } from '../../components/machinery/selectors/field-selector.ts'
import type { Finding } from './finding.ts'
import type { Related, RelatedKey } from './related.ts'

/** A bounded list of related objects, or with `name` a single one. */
export interface ListNeed {
  readonly of: RelatedKey
  readonly namespace?: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
  readonly name?: string
}

export type Need =
  | ListNeed
  /** The metadata of everything in the namespace. */
  | { readonly of: 'contents'; readonly namespace: string }
  /** The metadata of what names the object as its owner: in its namespace, or anywhere with ''. */
  | { readonly of: 'dependents'; readonly uid: string; readonly namespace: string }
  /** What the scheduler says of the pod. */
  | { readonly of: 'scheduler' }

export interface Explainer<T = KubeObject> {
  /** What has to be read besides the object. */
  needs(object: T, dialect: Dialect): readonly Need[]
  /** Pure. What is wrong with an object that is not being deleted, the most important first; empty when it is fine. */
  explain(object: T, related: Related): readonly Finding[]
  /** Pure. The object's state in a few words. */
  state(object: T, related: Related): string
}

/** Keeps the exact type of the object for the functions; callers give each explainer objects of its own kind. */
export function defineExplainer<T>(explainer: Explainer<T>): Explainer {
  return explainer as unknown as Explainer
}

/** The events about one object. */
export function eventsNeed({ metadata, kind = '' }: Pick<KubeObject, 'metadata' | 'kind'>): Need {
  const { namespace, name = '' } = metadata
  return {
    of: 'events',
    // Events about objects without a namespace are in `default`.
    namespace: namespace ?? 'default',
    fieldSelector: `involvedObject.kind=${kind},involvedObject.name=${escapeFieldValue(name)}`,
  }
}
