/** faults: what a failed write says, field by field. Pure. */

export interface FieldFault {
  /** `spec.containers[0].image`; empty when the server names none. */
  readonly field: string
  readonly message: string
}

/** The causes of a Status. */
export function fieldFaults(details: unknown): FieldFault[] {
  if (typeof details !== 'object' || details === null || !('causes' in details)) return []
  const { causes } = details
  if (!Array.isArray(causes)) return []
  return causes.flatMap((cause: unknown): FieldFault[] => {
    if (typeof cause !== 'object' || cause === null) return []
    const { field, message } = cause as { readonly field?: unknown; readonly message?: unknown }
    const text = typeof message === 'string' ? message : ''
    return [{ field: typeof field === 'string' ? field : '', message: text }]
  })
}

/** The texts of the header `Warning` of an answer (RFC 9111, code 299). */
export function warningsOf(header: string | null): string[] {
  const found = (header ?? '').matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)
  return [...found].map(([, text = '']) => text.replace(/\\(.)/g, '$1'))
}
