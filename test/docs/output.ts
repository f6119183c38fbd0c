/** Output: compares what a document shows with what a command printed, but for what differs from run to run. */

/** What may differ, and what stands for it; applied in this order. */
const tolerances: readonly [pattern: RegExp, substitute: string][] = [
  [/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '<time>'],
  [/sha256:([0-9a-f]{64}|\.\.\.)/g, 'sha256:<hash>'],
  [/\b[a-z0-9]{6}\.[a-z0-9]{16}\b/g, '<token>'],
  [/\bsystem:bootstrap:[a-z0-9]{6}\b/g, 'system:bootstrap:<id>'],
  [/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, '<uuid>'],
  [/\b(\d{1,3}\.){3}\d{1,3}:\d+/g, '<address>:<port>'],
  [/\b(\d{1,3}\.){3}\d{1,3}\b/g, '<address>'],
  [/\bpid \d+/g, 'pid <pid>'],
  [/\b\d+(\.\d+)? (ms|s|m|h|d)\b/g, '<duration>'],
  [/(?<=\s)(\d+[smhd])+(?=\s|$)/g, '<age>'],
  // Pods of a Deployment: the hash of the template is no random suffix, but its value promises nothing either.
  [/\b([a-z][a-z0-9-]*)-[a-z0-9]{8,10}-[a-z0-9]{5}\b/g, '$1-<hash>-<random>'],
  [/\bcsr-[a-z0-9]{5}\b/g, 'csr-<random>'],
  [/[ \t]+/g, ' '],
]

/** Lines whose place among their like depends on who is ready first, or on a random name. */
function comesInAnyOrder(line: string): boolean {
  return /^✓ \S+ <duration> /.test(line) || line.includes('<random>')
}

/** kubectl says how far it is as often as something changes while it waits. */
function isProgressOfKubectl(line: string): boolean {
  return line.startsWith('Waiting for deployment ')
}

/** What `up` says only when it takes long. */
function isWait(line: string): boolean {
  return line.startsWith('waiting for ')
}

/** The lines of an output in the form in which two runs are the same. `home` becomes `~`. */
export function normalLines(text: string, home?: string): string[] {
  const lines = (home === undefined ? text : text.replaceAll(home, '~'))
    .split('\n')
    .map((line) =>
      tolerances
        .reduce((changed, [pattern, substitute]) => changed.replaceAll(pattern, substitute), line)
        .trim(),
    )
    .filter((line) => line !== '' && !isProgressOfKubectl(line) && !isWait(line))
  const groups: string[][] = []
  for (const line of lines) {
    const group = groups.at(-1)
    const before = group?.[0]
    if (before !== undefined && comesInAnyOrder(before) && comesInAnyOrder(line)) group?.push(line)
    else groups.push([line])
  }
  return groups.flatMap((group) => group.toSorted())
}

/** Whether the lines are those expected; a line `...` stands for any number of lines. */
export function fits(expected: readonly string[], actual: readonly string[]): boolean {
  const [first, ...rest] = expected
  if (first === undefined) return actual.length === 0
  if (first === '...') {
    return fits(rest, actual) || (actual.length > 0 && fits(expected, actual.slice(1)))
  }
  return first === actual[0] && fits(rest, actual.slice(1))
}
