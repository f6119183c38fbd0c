/** toneOf: whether a word of a table is good or bad news. Pure. */

/** Words of states that need attention, and of those that are as they should be. */
const bad = /(BackOff|Error|Failed|Evicted|OOMKilled|NotReady|Unknown|Invalid|Lost)/
const good = /^(Running|Ready|Bound|Active|Available|Complete|Completed|Succeeded|True)$/
const waiting = /^(Pending|Terminating|ContainerCreating|PodInitializing|Init:.*|Progressing)$/

/** Undefined for words that say neither. */
export function toneOf(text: string): 'good' | 'warn' | 'bad' | undefined {
  if (good.test(text)) return 'good'
  if (waiting.test(text)) return 'warn'
  return text.length < 40 && bad.test(text) ? 'bad' : undefined
}
