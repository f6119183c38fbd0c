/** TableFrame: a table that scrolls by itself, also with the keyboard. */
import type { ComponentChildren } from 'preact'

export function TableFrame({
  label,
  columns,
  className,
  children,
}: {
  /** Of the region. */
  readonly label: string
  readonly columns: readonly string[]
  readonly className?: string
  /** Rows. */
  readonly children: ComponentChildren
}) {
  return (
    <div class="scrolls" tabIndex={0} role="region" aria-label={label}>
      <table class={className}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}
