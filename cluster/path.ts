/** Path: where a value is in a document: names of fields and numbers of list items. */

export type Path = readonly (string | number)[]

/** `steps[2].expect.within` */
export function pathText(path: Path): string {
  return path
    .map((part, index) =>
      typeof part === 'number' ? `[${part}]` : index === 0 ? part : `.${part}`,
    )
    .join('')
}
