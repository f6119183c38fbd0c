/** Shell words: texts as a reader types them into a shell. */

/** A word of sh: in quotes if it has a blank, a letter beyond ASCII or anything that means something to the shell. */
export function shellWord(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word
  return `'${word.replaceAll("'", String.raw`'\''`)}'`
}

/** The line that sets an environment variable: of sh, on Windows of PowerShell. */
export function exportLine(
  name: string,
  value: string,
  platform: NodeJS.Platform = process.platform,
): string {
  if (platform === 'win32') return `$env:${name} = '${value.replaceAll("'", "''")}'`
  return `export ${name}=${shellWord(value)}`
}
