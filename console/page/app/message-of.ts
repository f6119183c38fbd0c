/** messageOf: one line for a person, of whatever was thrown. */
export function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message
  return String(error)
}
