/** Timelines as a Mermaid Gantt chart: a section for each scenario. */
import { mermaidText } from './mermaid-text.ts'
import type { Timeline, TimelineStep } from './timeline.ts'

/** The chart has no colours of its own for checks and faults: tags of tasks stand for them. */
function tagOf({ role, outcome }: TimelineStep): string {
  if (outcome === 'failed') return 'crit, '
  return { action: '', fault: 'active, ', check: 'done, ' }[role]
}

function taskOf(step: TimelineStep): string {
  const { title, role, startMs, endMs } = step
  const label = mermaidText(role === 'action' ? title : `${role} ${title}`)
  return `  ${label} :${tagOf(step)}${Math.round(startMs)}, ${Math.max(1, Math.round(endMs - startMs))}ms`
}

/** Times are milliseconds from the beginning of each scenario. Steps that did not run are left out. */
export function timelineMermaid(timelines: readonly Timeline[]): string {
  const sections = timelines.flatMap(({ name, outcome, steps }) => [
    `  section ${mermaidText(`${name} ${outcome}`)}`,
    ...steps.filter((step) => step.outcome !== 'not run').map(taskOf),
  ])
  return ['gantt', '  dateFormat x', '  axisFormat %M:%S.%L', ...sections, ''].join('\n')
}
