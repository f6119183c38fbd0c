/**
 * UsageRules: what simulated containers use whose pods have no annotation for it, from the file of --usage-file. A line is a rule,
 * `NAMESPACE/POD/CONTAINER cpu|memory USAGE`; the first that matches counts, for CPU and for memory. What is left out on the
 * right of the pattern is anything, and so is `*`, of which a part may hold one. Empty lines and `#` comments are skipped.
 */
import type { Pod } from '../../api/generated/types.ts'
import { readUsage, usageForms, type Usage } from '../../api/simulated-usage.ts'

type Metered = 'cpu' | 'memory'

export interface UsageRules {
  /** Undefined: no rule matches. */
  usageOf(pod: Pod, container: string, resource: Metered): Usage | undefined
}

interface Rule {
  readonly resource: Metered
  readonly matches: readonly ((name: string) => boolean)[]
  readonly usage: Usage
}

/** Every rule may be compared with every container of a node, each time its usage is read. */
const mostRules = 1000
const partPattern = /^[-a-z0-9.]*\*?[-a-z0-9.]*$/

/** Without a file. */
export const noUsageRules: UsageRules = { usageOf: () => undefined }

function matcherOf(part: string): (name: string) => boolean {
  const [start = '', end] = part.split('*')
  if (end === undefined) return (name) => name === start
  const least = start.length + end.length
  return (name) => name.length >= least && name.startsWith(start) && name.endsWith(end)
}

/** Throws an error that says what is wrong with the rule. */
function ruleOf(line: string): Rule {
  const [, pattern, resource, value] = /^(\S+)\s+(\S+)\s+(.+)$/.exec(line) ?? []
  if (pattern === undefined || resource === undefined || value === undefined)
    throw new Error('want NAMESPACE/POD/CONTAINER, cpu or memory, and a usage')
  const parts = pattern.split('/')
  const isPattern =
    parts.length <= 3 && parts.every((part) => part !== '' && partPattern.test(part))
  if (!isPattern)
    throw new Error(
      `invalid pattern "${pattern}": want NAMESPACE, NAMESPACE/POD or NAMESPACE/POD/CONTAINER, with at most one * in each part`,
    )
  if (resource !== 'cpu' && resource !== 'memory')
    throw new Error(`invalid resource "${resource}": want cpu or memory`)
  const usage = readUsage(value)
  if (usage === undefined) throw new Error(`invalid usage "${value}": must be ${usageForms}`)
  return { resource, matches: parts.map(matcherOf), usage }
}

/** Throws an error that names the line. */
export function parseUsageRules(text: string): UsageRules {
  const rules: Rule[] = []
  for (const [index, line] of text.split('\n').entries()) {
    const written = line.trim()
    if (written === '' || written.startsWith('#')) continue
    if (rules.length === mostRules)
      throw new Error(`line ${index + 1}: more than ${mostRules} rules`)
    try {
      rules.push(ruleOf(written))
    } catch (error) {
      throw new Error(`line ${index + 1}: ${(error as Error).message}`, { cause: error })
    }
  }
  return {
    usageOf: ({ metadata }, container, resource) => {
      const names = [metadata.namespace ?? '', metadata.name ?? '', container]
      const isMatch = (rule: Rule): boolean =>
        rule.resource === resource && rule.matches.every((matches, at) => matches(names[at] ?? ''))
      return rules.find(isMatch)?.usage
    },
  }
}
