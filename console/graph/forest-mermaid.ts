/** A forest as a Mermaid flowchart. */
import type { Health } from '../family/object-state.ts'
import type { ForestBox } from './forest.ts'
import { mermaidText } from './mermaid-text.ts'

/** Colours that can be read on light and dark. */
export const healthClasses = [
  '  classDef good stroke:#2da44e',
  '  classDef waiting stroke:#bf8700',
  '  classDef bad stroke:#cf222e,stroke-width:2px',
].join('\n')

export function mermaidBox(id: string, lines: readonly string[], health: Health): string {
  const label = lines.map(mermaidText).join('<br/>')
  return `${id}["${label}"]${health === 'unknown' ? '' : `:::${health}`}`
}

export function forestMermaid(roots: readonly ForestBox[]): string {
  const lines = ['graph LR']
  let count = 0
  const draw = ({ lines: content, health, below }: ForestBox): string => {
    count += 1
    const id = `o${count}`
    lines.push(`  ${mermaidBox(id, content, health)}`)
    for (const one of below) lines.push(`  ${id} --> ${draw(one)}`)
    return id
  }
  roots.forEach(draw)
  return `${[...lines, healthClasses].join('\n')}\n`
}
