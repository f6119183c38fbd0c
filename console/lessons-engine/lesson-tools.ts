/** Lesson tools: the programs that the commands of a lesson need. */
import type { Lesson, LessonStep } from './lesson.ts'

const tools = ['kubectl', 'skiff'] as const

export type Tool = (typeof tools)[number]

/** A word of a command line: `kubectl get pods | kubectl apply -f -`, `$(skiff token create)`, but no path and no flag. */
const asWord = (tool: Tool): RegExp => new RegExp(String.raw`(?<![\w./:=-])${tool}(?=\s|$)`, 'm')

export function toolsOf(command = ''): Tool[] {
  return tools.filter((tool) => asWord(tool).test(command))
}

export function toolsOfStep({ command, look }: Pick<LessonStep, 'command' | 'look'>): Tool[] {
  return toolsOf(`${command}\n${look ?? ''}`)
}

export function toolsOfLesson({ steps }: Lesson): Tool[] {
  const needed = new Set(steps.flatMap(toolsOfStep))
  return tools.filter((tool) => needed.has(tool))
}
