/** A cluster as a Mermaid flowchart: a subgraph for the control plane, and one for each node. */
import type { ClusterPicture, PicturePart } from './cluster-picture.ts'
import { healthClasses, mermaidBox } from './forest-mermaid.ts'
import { mermaidText } from './mermaid-text.ts'

function subgraph(id: string, title: string, parts: readonly PicturePart[]): string[] {
  const boxes = parts.map(({ name, text, health }, index) =>
    mermaidBox(`${id}_${index + 1}`, text === '' ? [name] : [name, text], health),
  )
  const all = boxes.length === 0 ? [`${id}_0["no pods"]`] : boxes
  return [`  subgraph ${id}["${mermaidText(title)}"]`, ...all.map((line) => `    ${line}`), '  end']
}

export function clusterMermaid({ title, parts, nodes, leftOut }: ClusterPicture): string {
  const lines = [
    'graph TD',
    ...subgraph('control', title, parts),
    ...nodes.flatMap(({ name, text, pods }, index) => [
      ...subgraph(`node${index + 1}`, name === '' ? text : `${name} (${text})`, pods),
      ...(name === '' ? [] : [`  control --- node${index + 1}`]),
    ]),
    ...leftOut.map((line, index) => `  note${index + 1}["${mermaidText(line)}"]`),
    healthClasses,
  ]
  return `${lines.join('\n')}\n`
}
