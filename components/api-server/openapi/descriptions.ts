/** The texts of kinds and fields; loaded with the first document, and kept. */

interface Texts {
  readonly texts: readonly string[]
  readonly structs: Readonly<
    Record<string, { readonly text: number; readonly fields: Readonly<Record<string, number>> }>
  >
}

export interface Descriptions {
  /** The text of a struct (`core/v1.Pod`), '' without one. */
  struct(name: string): string
  /** The text of a field of a struct, '' without one. */
  field(struct: string, field: string): string
}

let loaded: Promise<Descriptions> | undefined

/** Loads the texts once. */
export function loadDescriptions(): Promise<Descriptions> {
  loaded ??= import('../../api/generated/descriptions.ts').then(({ descriptions }) =>
    describe(JSON.parse(descriptions) as Texts),
  )
  return loaded
}

function describe({ texts, structs }: Texts): Descriptions {
  const text = (number: number | undefined) => (number === undefined ? '' : (texts[number] ?? ''))
  const entry = (name: string) => (Object.hasOwn(structs, name) ? structs[name] : undefined)
  return {
    struct: (name) => text(entry(name)?.text),
    field: (struct, field) => {
      const fields = entry(struct)?.fields
      return fields !== undefined && Object.hasOwn(fields, field) ? text(fields[field]) : ''
    },
  }
}
