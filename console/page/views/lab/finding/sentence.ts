/** sentence: a finding in one sentence. Pure. */
import type { Finding } from './read-finding.ts'

/** `After step 1: Secret default/web was made twice, with the plan "killed after: create secrets".` */
export function sentenceOf({ title, wrong }: Pick<Finding, 'title' | 'wrong'>): string {
  const [first, ...others] = wrong
  const text = first?.text ?? 'the run ended in another way than the reference'
  const more = others.length === 0 ? '' : `, and ${others.length} more`
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}${more}, with the plan “${title}”.`
}
