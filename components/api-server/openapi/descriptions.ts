/** The texts of kinds and fields. */

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

/** Loads and parses the texts, which are large: call it once. */
export async function loadDescriptions(): Promise<Descriptions> {
  const { descriptions } = await import('../../api/generated/descriptions.ts')
  return describe(JSON.parse(descriptions) as Texts)
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
