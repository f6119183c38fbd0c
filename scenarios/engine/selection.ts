/** Selection: some objects of a kind, as users name them. PURE. */

export interface Selection {
  readonly kind: string
  readonly name?: string | undefined
  /** `*` is all of them. */
  readonly namespace?: string | undefined
  readonly labelSelector?: string | undefined
  readonly fieldSelector?: string | undefined
}

/** A selection whose kind can need its API version. */
export type RecordedSelection = Selection & { readonly apiVersion?: string | undefined }

/** The options of a list or watch. `fallback`: the namespace of selections that name none. */
export function listOptions(
  selection: Omit<Selection, 'kind'>,
  { isNamespaced, fallback }: { readonly isNamespaced: boolean; readonly fallback: string },
) {
  const { name, namespace = fallback, labelSelector, fieldSelector } = selection
  const byName = name === undefined ? [] : [`metadata.name=${name}`]
  const fields = [...byName, ...(fieldSelector === undefined ? [] : [fieldSelector])]
  return {
    ...(isNamespaced && namespace !== '*' ? { namespace } : {}),
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(fields.length === 0 ? {} : { fieldSelector: fields.join(',') }),
  }
}

/** `Pod web in shop (app=web)`. */
export function describeSelection(selection: Selection): string {
  const { kind, name, namespace, labelSelector, fieldSelector } = selection
  const filters = [labelSelector, fieldSelector].filter((one) => one !== undefined)
  const place =
    namespace === undefined ? '' : ` in ${namespace === '*' ? 'all namespaces' : namespace}`
  return `${kind}${name === undefined ? '' : ` ${name}`}${place}${filters.length === 0 ? '' : ` (${filters.join(', ')})`}`
}
