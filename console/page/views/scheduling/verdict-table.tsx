/** VerdictTable: each node's verdict on a pod: which plugin rejects it and why, or its scores. */
import type { PodExplanation } from '../../../../components/api/pod-explanation.ts'
import { TableFrame } from '../../parts/table-frame.tsx'
import { inOrder, refusalText, rejections, scoringPlugins } from './verdicts.ts'

/** More rows tell no more. */
const mostRows = 200

function Summary({ explanation }: { readonly explanation: PodExplanation }) {
  const { nodes, chosen, gatedBy, profiles, preemption } = explanation
  const fitting = nodes.filter(({ fits }) => fits).length
  const counts = rejections(nodes).map(([plugin, count]) => `${plugin} rejects ${count}`)
  return (
    <>
      {gatedBy !== undefined && (
        <p class="tone-warn">
          {gatedBy.plugin} keeps it out of the queue: {gatedBy.reasons.join('; ')}
        </p>
      )}
      {profiles !== undefined && (
        <p class="tone-warn">
          It is addressed to {explanation.schedulerName}; this scheduler answers to{' '}
          {profiles.join(', ')}.
        </p>
      )}
      <p>
        {fitting} of {nodes.length} nodes fit{counts.length > 0 ? `; ${counts.join(', ')}` : ''}.
        {chosen !== undefined && ` An attempt would choose ${chosen}.`}
      </p>
      {preemption !== undefined && (
        <p class="tone-warn">
          It would fit on {preemption.node} without {preemption.victims.join(', ')}.
        </p>
      )}
    </>
  )
}

export function VerdictTable({ explanation }: { readonly explanation: PodExplanation }) {
  const rows = inOrder(explanation)
  const plugins = scoringPlugins(rows)
  return (
    <>
      <Summary explanation={explanation} />
      <TableFrame label="Verdict of each node" columns={['Node', 'Verdict', ...plugins]}>
        {rows.slice(0, mostRows).map((node) => (
          <tr key={node.node}>
            <th scope="row">{node.node}</th>
            {node.fits ? (
              <td class="tone-good">fits, score {node.total}</td>
            ) : (
              <td colSpan={plugins.length + 1}>
                {refusalText(node).map((line, at) => (
                  <div key={line} class={at === 0 ? 'tone-bad' : 'dim'}>
                    {line}
                  </div>
                ))}
              </td>
            )}
            {node.fits &&
              plugins.map((plugin) => {
                const score = node.scores.find((one) => one.plugin === plugin)
                return (
                  <td key={plugin}>
                    {score === undefined ? '' : `${score.score} × ${score.weight}`}
                  </td>
                )
              })}
          </tr>
        ))}
      </TableFrame>
      {rows.length > mostRows && <p class="dim">and {rows.length - mostRows} more nodes</p>}
    </>
  )
}
