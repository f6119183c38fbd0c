/** TextArea: a plain editor with line numbers. Tab indents by two spaces; Escape and then Tab leaves it. */
import { useRef } from 'preact/hooks'

export interface TextAreaProps {
  readonly label: string
  readonly text: string
  readonly onText: (text: string) => void
  /** Shown beside the text, the first is 1. */
  readonly markedLine?: number | undefined
}

/** Replaces the selection as typing does, so that undo works. */
function insert(area: HTMLTextAreaElement, text: string): void {
  area.setRangeText(text, area.selectionStart, area.selectionEnd, 'end')
}

/** The selected lines, with two more or fewer spaces before each. */
function indent(area: HTMLTextAreaElement, isOut: boolean): void {
  const { value, selectionStart, selectionEnd } = area
  const start = value.lastIndexOf('\n', selectionStart - 1) + 1
  const lines = value.slice(start, selectionEnd).split('\n')
  const moved = lines.map((line) => (isOut ? line.replace(/^ {1,2}/, '') : `  ${line}`)).join('\n')
  area.setRangeText(moved, start, selectionEnd, 'select')
}

export function TextArea({ label, text, onText, markedLine }: TextAreaProps) {
  const isLeaving = useRef(false)
  const lines = text.split('\n').length
  const onKeyDown = (
    event: KeyboardEvent & { readonly currentTarget: HTMLTextAreaElement },
  ): void => {
    const { key, shiftKey, currentTarget: area } = event
    if (key !== 'Tab' || isLeaving.current) {
      isLeaving.current = key === 'Escape'
      return
    }
    event.preventDefault()
    const hasLines = area.value.slice(area.selectionStart, area.selectionEnd).includes('\n')
    if (shiftKey || hasLines) indent(area, shiftKey)
    else insert(area, '  ')
    onText(area.value)
  }
  return (
    <div class="editor" tabIndex={-1}>
      <div class="line-numbers" aria-hidden="true">
        {Array.from({ length: lines }, (_, index) => (
          <span key={index} class={index + 1 === markedLine ? 'bad' : undefined}>
            {index + 1}
          </span>
        ))}
      </div>
      <textarea
        aria-label={label}
        aria-description="Tab indents; Escape and then Tab leaves the editor"
        value={text}
        rows={lines + 1}
        wrap="off"
        spellcheck={false}
        autocapitalize="off"
        autocomplete="off"
        onInput={({ currentTarget }) => onText(currentTarget.value)}
        onKeyDown={onKeyDown}
      />
    </div>
  )
}
