//! The grammar. Everything is read before anything is computed.
//!
//! ```text
//! expression = term { ("+" | "-") term }
//! term       = factor { ("*" | "/" | "//" | "%") factor }
//! factor     = ("+" | "-") factor | power
//! power      = atom [ "**" factor ]
//! atom       = literal | "(" expression ")"
//! ```

use std::fmt;

use super::error::{CalcError, CalcErrorKind, Fault};
use super::{MAX_DEPTH, Number, explain, literal};

/// A parsed expression.
///
/// Operators of one level stand side by side in a chain, so the tree is never deeper than
/// [`MAX_DEPTH`] allows, however long the text.
#[derive(Debug)]
pub(super) enum Expr {
    /// A literal, not yet held against the limits.
    Literal { value: Number, at: usize },
    /// A minus sign before its operand.
    Negative(Box<Expr>),
    /// Operators applied from left to right.
    Chain { first: Box<Expr>, links: Vec<Link> },
}

/// One operator of a chain with its right side.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) operator: Operator,
    /// Byte offset of the operator.
    pub(super) at: usize,
    pub(super) right: Expr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Modulo,
    Power,
}

impl Operator {
    /// Longer spellings first: `**` is never two `*`.
    const LONGEST_FIRST: [Self; 7] = [
        Self::Power,
        Self::FloorDivide,
        Self::Multiply,
        Self::Divide,
        Self::Modulo,
        Self::Add,
        Self::Subtract,
    ];

    pub(super) fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::FloorDivide => "//",
            Self::Modulo => "%",
            Self::Power => "**",
        }
    }

    /// The operator that `text` starts with, and what follows it.
    pub(super) fn leading(text: &str) -> Option<(Self, &str)> {
        Self::LONGEST_FIRST
            .into_iter()
            .find_map(|operator| Some((operator, text.strip_prefix(operator.symbol())?)))
    }

    /// The operator that `text` ends with, and its byte offset.
    pub(super) fn trailing(text: &str) -> Option<(Self, usize)> {
        Self::LONGEST_FIRST
            .into_iter()
            .find_map(|operator| Some((operator, text.strip_suffix(operator.symbol())?.len())))
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.symbol())
    }
}

/// Space and tab. A line break is none: an expression is one line.
pub(super) const BLANKS: [char; 2] = [' ', '\t'];

/// Reads all of `source` as one expression.
pub(super) fn parse(source: &str) -> Result<Expr, CalcError> {
    let mut parser = Parser {
        source,
        rest: source,
        depth: 0,
    };
    let expr = parser.expression()?;
    match parser.peek() {
        None => Ok(expr),
        Some((at, next)) => Err(explain::operator(source, at, next)),
    }
}

struct Parser<'a> {
    source: &'a str,
    /// What is still to be read.
    rest: &'a str,
    depth: usize,
}

impl Parser<'_> {
    fn expression(&mut self) -> Result<Expr, CalcError> {
        self.chain(&[Operator::Add, Operator::Subtract], Self::term)
    }

    fn term(&mut self) -> Result<Expr, CalcError> {
        self.chain(
            &[
                Operator::Multiply,
                Operator::Divide,
                Operator::FloorDivide,
                Operator::Modulo,
            ],
            Self::factor,
        )
    }

    fn chain(
        &mut self,
        operators: &[Operator],
        operand: fn(&mut Self) -> Result<Expr, CalcError>,
    ) -> Result<Expr, CalcError> {
        let first = operand(self)?;
        let mut links = Vec::new();
        while let Some((operator, at)) = self.take_operator(operators) {
            let right = operand(self)?;
            links.push(Link {
                operator,
                at,
                right,
            });
        }
        Ok(if links.is_empty() {
            first
        } else {
            Expr::Chain {
                first: Box::new(first),
                links,
            }
        })
    }

    fn factor(&mut self) -> Result<Expr, CalcError> {
        let at = self.next_offset();
        if self.take('+') {
            self.nested(at, Self::factor)
        } else if self.take('-') {
            let operand = self.nested(at, Self::factor)?;
            Ok(Expr::Negative(Box::new(operand)))
        } else {
            self.power()
        }
    }

    /// Binds tighter than a sign on its left, looser than one on its right: `-2**-2` is -(2**(-2)).
    fn power(&mut self) -> Result<Expr, CalcError> {
        let base = self.atom()?;
        let Some((operator, at)) = self.take_operator(&[Operator::Power]) else {
            return Ok(base);
        };
        let right = self.nested(at, Self::factor)?;
        Ok(Expr::Chain {
            first: Box::new(base),
            links: vec![Link {
                operator,
                at,
                right,
            }],
        })
    }

    fn atom(&mut self) -> Result<Expr, CalcError> {
        let at = self.next_offset();
        if self.take('(') {
            let inner = self.nested(at, Self::expression)?;
            return match self.peek() {
                Some((_, ')')) => {
                    self.take(')');
                    Ok(inner)
                }
                Some((end, next)) => Err(explain::operator(self.source, end, next)),
                None => {
                    Err(Fault::syntax("unclosed `(`", "add the missing `)`").at(self.source, at))
                }
            };
        }
        match literal::literal(self.rest) {
            Ok(Some((value, rest))) => {
                self.rest = rest;
                Ok(Expr::Literal { value, at })
            }
            Ok(None) => Err(explain::operand(self.source, at)),
            Err(fault) => Err(fault.at(self.source, at)),
        }
    }

    /// Reads what stands one level deeper because of the character at `at`.
    fn nested(
        &mut self,
        at: usize,
        inner: fn(&mut Self) -> Result<Expr, CalcError>,
    ) -> Result<Expr, CalcError> {
        if self.depth == MAX_DEPTH {
            return Err(Fault::new(
                CalcErrorKind::TooDeep,
                format!("more than {MAX_DEPTH} levels of parentheses, signs and `**`"),
                "compute an inner part on its own first",
            )
            .at(self.source, at));
        }
        self.depth += 1;
        let expr = inner(self);
        self.depth -= 1;
        expr
    }

    /// Skips blanks; the offset of what follows.
    fn next_offset(&mut self) -> usize {
        self.rest = self.rest.trim_start_matches(BLANKS);
        self.source.len() - self.rest.len()
    }

    /// Skips blanks; what follows, with its offset.
    fn peek(&mut self) -> Option<(usize, char)> {
        let at = self.next_offset();
        self.rest.chars().next().map(|next| (at, next))
    }

    fn take(&mut self, symbol: char) -> bool {
        self.rest
            .strip_prefix(symbol)
            .map(|rest| self.rest = rest)
            .is_some()
    }

    fn take_operator(&mut self, wanted: &[Operator]) -> Option<(Operator, usize)> {
        let at = self.next_offset();
        let (operator, rest) = Operator::leading(self.rest)?;
        wanted.contains(&operator).then(|| {
            self.rest = rest;
            (operator, at)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Expr, parse};

    /// The tree with every operation in parentheses.
    fn shape(expr: &Expr) -> String {
        match expr {
            Expr::Literal { value, .. } => value.to_string(),
            Expr::Negative(inner) => format!("(-{})", shape(inner)),
            Expr::Chain { first, links } => links.iter().fold(shape(first), |left, link| {
                format!("({left}{}{})", link.operator, shape(&link.right))
            }),
        }
    }

    #[test]
    fn operators_bind_as_in_python() {
        for (source, expected) in [
            ("1+2*3", "(1+(2*3))"),
            ("8-3-2", "((8-3)-2)"),
            ("2*3%4//5/6", "((((2*3)%4)//5)/6)"),
            ("-2**2", "(-(2**2))"),
            ("2**3**2", "(2**(3**2))"),
            ("2**-3**2", "(2**(-(3**2)))"),
            ("(2**3)**2", "((2**3)**2)"),
            ("2 --+3", "(2-(-3))"),
            ("-2*3", "((-2)*3)"),
            (" ( 1 +\t2 ) * 3 ", "((1+2)*3)"),
        ] {
            assert_eq!(shape(&parse(source).unwrap()), expected, "{source}");
        }
    }

    #[test]
    fn nesting_of_all_kinds_adds_up() {
        let nest = |n: usize| format!("{}1{}", "-(2**".repeat(n), ")".repeat(n));
        assert!(parse(&nest(21)).is_ok()); // 63 levels
        assert!(parse(&format!("-{}", nest(21))).is_ok()); // 64
        let error = parse(&format!("--{}", nest(21))).unwrap_err();
        assert_eq!(error.kind, super::CalcErrorKind::TooDeep);
    }
}
